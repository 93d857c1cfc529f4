//! What an HTTP status means for whoever called a model's service, where nothing better is known.

use unstuck_core::fault::{Auth, Http, Kind, Provider, RateLimit};

/// The fault behind a status; without one there was no answer at all.
pub(super) fn kind(http: Http, provider: Provider) -> Kind {
    let rate = RateLimit { status: http.status, limited: None };
    match http.status {
        Some(401 | 403) => Kind::AuthInvalid(Auth { account: provider.name, variable: None }),
        Some(402) => Kind::ProviderQuota(http),
        Some(404) => Kind::ProviderNotAvailable(provider),
        Some(413) => Kind::ProviderContextTooLong(http),
        Some(429) => Kind::ProviderRateLimit(rate),
        Some(529) => Kind::ProviderOverloaded(rate),
        // The server gave up waiting for us: that passes.
        Some(408) => Kind::ProviderApiError(http),
        Some(400..=499) => Kind::ProviderRejected(http),
        _ => Kind::ProviderApiError(http),
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

    // T4.7, T4.8
    #[test]
    fn every_status_has_its_code() {
        let cases = [
            (None, Code::ProviderApiError),
            (Some(400), Code::ProviderRejected),
            (Some(401), Code::AuthInvalid),
            (Some(402), Code::ProviderQuota),
            (Some(403), Code::AuthInvalid),
            (Some(404), Code::ProviderNotAvailable),
            (Some(408), Code::ProviderApiError),
            (Some(413), Code::ProviderContextTooLong),
            (Some(422), Code::ProviderRejected),
            (Some(429), Code::ProviderRateLimit),
            (Some(500), Code::ProviderApiError),
            (Some(503), Code::ProviderApiError),
            (Some(529), Code::ProviderOverloaded),
        ];
        for (status, code) in cases {
            let http = Http { status, ..Http::default() };
            assert_eq!(kind(http, Provider::default()).code(), code, "{status:?}");
        }
    }
}
