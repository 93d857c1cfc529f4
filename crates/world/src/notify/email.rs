//! A channel that sends email through an SMTP server.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lettre::address::{Address, Envelope};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;
use unstuck_core::time::Time;

use super::delivery::{DeliveryError, invalid_setting};
use super::settings::{EmailSettings, SmtpSecurity};

/// Timeout of one step of the SMTP session.
const STEP: Duration = Duration::from_secs(20);
/// Timeout of the whole delivery.
const TOTAL: Duration = Duration::from_mins(1);
/// Maximum number of bytes of a subject in one encoded word.
const SUBJECT_PIECE_BYTES: usize = 42;
/// Number of characters in a line of the body.
const LINE_CHARS: usize = 76;

pub(super) struct EmailChannel {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    host: String,
    from: Address,
    to: Vec<Address>,
}

impl EmailChannel {
    pub(super) fn new(settings: EmailSettings) -> Result<Self, Fault> {
        let host = settings.host.clone();
        let from = parse_address(&settings.from, "from")?;
        let to =
            settings.to.iter().map(|to| parse_address(to, "to")).collect::<Result<Vec<_>, _>>()?;
        if to.is_empty() {
            return Err(invalid_setting("to", "no recipient is named"));
        }
        Ok(Self { transport: build_transport(settings)?, host, from, to })
    }

    pub(super) async fn deliver(
        &self,
        message: &Notification,
        now: Time,
    ) -> Result<(), DeliveryError> {
        let envelope = Envelope::new(Some(self.from.clone()), self.to.clone());
        let envelope = envelope.map_err(|_| DeliveryError::never("it has no recipient"))?;
        let mail = render_mail(message, &self.from, &self.to, now);
        let send = self.transport.send_raw(&envelope, mail.as_bytes());
        match tokio::time::timeout(TOTAL, send).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.interpret_error(&error)),
            Err(_) => {
                let host = &self.host;
                let seconds = TOTAL.as_secs();
                Err(DeliveryError::later(format!("{host} did not answer within {seconds} s")))
            }
        }
    }

    /// Maps an SMTP error to an outcome. Uses only the status code, because a server's text may
    /// contain anything.
    fn interpret_error(&self, error: &Error) -> DeliveryError {
        let host = &self.host;
        match error.status() {
            Some(status) if error.is_permanent() => {
                DeliveryError::never(format!("{host} answered {status}"))
            }
            Some(status) => DeliveryError::later(format!("{host} answered {status}")),
            None if error.is_tls() => {
                DeliveryError::later(format!("no safe connection to {host} can be made"))
            }
            None if error.is_client() => {
                DeliveryError::never(format!("{host} does not offer what the settings ask for"))
            }
            None => DeliveryError::later(format!("{host} cannot be reached")),
        }
    }
}

fn build_transport(settings: EmailSettings) -> Result<AsyncSmtpTransport<Tokio1Executor>, Fault> {
    let host = settings.host.as_str();
    let builder = match settings.security {
        SmtpSecurity::Tls => AsyncSmtpTransport::<Tokio1Executor>::relay(host),
        SmtpSecurity::StartTls => AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(host),
        SmtpSecurity::None => Ok(AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)),
    };
    let builder = builder.map_err(|_| invalid_setting("host", "the mail server cannot be one"))?;
    let mut builder = builder.timeout(Some(STEP));
    if let Some(port) = settings.port {
        builder = builder.port(port);
    }
    match (settings.user, settings.password) {
        (None, None) => {}
        (Some(_), Some(_)) if settings.security == SmtpSecurity::None && !is_local_host(host) => {
            let why = "the password would be sent in the open; use \"tls\" or \"starttls\"";
            return Err(invalid_setting("security", why));
        }
        (Some(user), Some(password)) => {
            builder = builder.credentials(Credentials::new(user, password.expose().to_owned()));
        }
        (Some(_), None) => return Err(invalid_setting("password", "the login has no password")),
        (None, Some(_)) => return Err(invalid_setting("user", "the password has no login")),
    }
    Ok(builder.build())
}

fn is_local_host(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

fn parse_address(text: &str, field: &str) -> Result<Address, Fault> {
    let address = text.trim().parse::<Address>();
    address.map_err(|_| invalid_setting(field, &format!("{text:?} is no e-mail address")))
}

/// Formats the whole mail. Its id is that of the message, so that a mailbox that gets it twice can
/// tell.
fn render_mail(message: &Notification, from: &Address, to: &[Address], now: Time) -> String {
    let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut headers = vec![
        format!("From: Unstuck <{from}>"),
        format!("To: {to}"),
        format!("Subject: {}", encode_header(&message.title)),
        format!("Message-ID: <{}@{}>", message.id, from.domain()),
        format!("X-Unstuck-Delivery: {}", message.id),
    ];
    headers.extend(render_date(now).map(|date| format!("Date: {date}")));
    headers.extend(message.category.map(|category| format!("X-Unstuck-Category: {category}")));
    headers.extend(message.code.map(|code| format!("X-Unstuck-Code: {code}")));
    // This header keeps vacation responders from replying.
    headers.push("Auto-Submitted: auto-generated".to_owned());
    headers.push("MIME-Version: 1.0".to_owned());
    headers.push("Content-Type: text/plain; charset=utf-8".to_owned());
    headers.push("Content-Transfer-Encoding: base64".to_owned());
    format!("{}\r\n\r\n{}\r\n", headers.join("\r\n"), encode_body(&message.full_text()))
}

fn render_date(now: Time) -> Option<String> {
    let millis = i64::try_from(now.as_millis()).ok()?;
    let at = jiff::Timestamp::from_millisecond(millis).ok()?;
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_string(&at).ok()
}

/// Encodes any text as the value of a header, in parts that end between characters.
fn encode_header(text: &str) -> String {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(SUBJECT_PIECE_BYTES));
        pieces.push(format!("=?utf-8?B?{}?=", BASE64.encode(piece)));
        rest = after;
    }
    pieces.join("\r\n ")
}

fn encode_body(text: &str) -> String {
    let letters = BASE64.encode(text.replace('\n', "\r\n"));
    let mut lines = Vec::new();
    let mut rest = letters.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE_CHARS));
        lines.push(line);
        rest = after;
    }
    lines.join("\r\n")
}

/// Omits the login.
impl fmt::Debug for EmailChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Email").field("host", &self.host).finish_non_exhaustive()
    }
}
