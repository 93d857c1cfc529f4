//! Any stream of any model can be read, and twice alike; what went wrong is a provider's fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::{Code, Origin};
use unstuck_world::provider::anthropic_api;
use unstuck_world::provider::openai_api::{self, OpenAiDialect};

fuzz_target!(|input: (bool, Vec<&[u8]>)| {
    // Events as they come, or anything at all.
    let (framed, events) = input;
    let stream: Vec<u8> = match framed {
        true => events.iter().flat_map(|data| [b"data: ", *data, b"\n\n"].concat()).collect(),
        false => events.concat(),
    };
    let readers: [fn(&[u8]) -> _; 3] = [
        anthropic_api::parse_stream,
        |stream| openai_api::parse_stream(OpenAiDialect::Responses, stream),
        |stream| openai_api::parse_stream(OpenAiDialect::Chat, stream),
    ];
    for read in readers {
        let turn = read(&stream);
        assert_eq!(turn, read(&stream));
        if let Err(failure) = turn {
            let auth = failure.fault.code() == Code::AuthInvalid;
            assert!(auth || failure.fault.origin == Origin::Provider, "{}", failure.fault);
        }
    }
});
