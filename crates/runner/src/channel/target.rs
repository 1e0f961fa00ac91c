//! Where a runner's channel is, and what opens it.

use kiln_model::{Digest, JobUuid, Slot};
use reqwest::Url;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;

use crate::AgentError;

#[derive(Clone, Debug)]
pub(crate) struct Target {
    server: String,
    /// Where the runner is, over HTTP.
    runner: Url,
    request: Request,
}

impl Target {
    pub(crate) fn new(
        server: &str,
        runner: &str,
        key: &str,
        slot: Slot,
    ) -> Result<Self, AgentError> {
        let (mut url, runner) = channel_url(server, runner)?;
        if !slot.is_whole() {
            url.query_pairs_mut()
                .append_pair("slot", &slot.number().to_string())
                .append_pair("slots", &slot.of().to_string());
        }
        let mut request = url
            .as_str()
            .into_client_request()
            .map_err(|_| AgentError::Address(server.to_owned()))?;
        let mut key =
            HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| AgentError::Key)?;
        key.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, key);
        Ok(Self {
            server: server.trim_end_matches('/').to_owned(),
            runner,
            request,
        })
    }

    /// The server's address, for people.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Where output goes that does not fit into a message.
    pub(crate) fn upload_url(&self, job: JobUuid, digest: &Digest) -> Url {
        let mut url = self.runner.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(["jobs", &job.to_string(), "output", digest.as_str()]);
        }
        url
    }

    /// The runner's credential, as it is sent.
    pub(crate) fn authorization(&self) -> &HeaderValue {
        &self.request.headers()[AUTHORIZATION]
    }

    pub(super) fn request(&self) -> Request {
        self.request.clone()
    }
}

/// Where the runner's channel is, and the runner itself over HTTP.
fn channel_url(server: &str, runner: &str) -> Result<(Url, Url), AgentError> {
    let refuse = || AgentError::Address(server.chars().take(200).collect());
    let mut url = Url::parse(server).map_err(|_| refuse())?;
    let scheme = match url.scheme() {
        "http" => "ws",
        "https" => "wss",
        _ => return Err(refuse()),
    };
    let has_more = !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some();
    if has_more {
        return Err(refuse());
    }
    // A URL drops such segments, and the request would go elsewhere.
    if matches!(runner, "" | "." | "..") {
        return Err(AgentError::Runner(runner.to_owned()));
    }
    url.path_segments_mut()
        .map_err(|()| refuse())?
        .pop_if_empty()
        .extend(["v0", "runners", runner]);
    let over_http = url.clone();
    url.path_segments_mut()
        .map_err(|()| refuse())?
        .push("channel");
    url.set_scheme(scheme).map_err(|()| refuse())?;
    Ok((url, over_http))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_is_below_the_servers_address() {
        for (server, url) in [
            (
                "http://127.0.0.1:6610",
                "ws://127.0.0.1:6610/v0/runners/rack-7/channel",
            ),
            (
                "https://host/kiln/",
                "wss://host/kiln/v0/runners/rack-7/channel",
            ),
        ] {
            assert_eq!(channel_url(server, "rack-7").unwrap().0.as_str(), url);
        }
    }

    #[test]
    fn what_is_not_a_servers_address_is_refused() {
        for bad in [
            "",
            "host",
            "ws://host",
            "http://u:p@host",
            "http://host/?q",
            "file:///x",
        ] {
            assert!(
                matches!(channel_url(bad, "r"), Err(AgentError::Address(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_runners_name_stays_one_segment() {
        assert!(matches!(
            channel_url("http://host", ".."),
            Err(AgentError::Runner(_))
        ));
        let (url, _) = channel_url("http://host", "a/b?c").unwrap();
        assert_eq!(url.as_str(), "ws://host/v0/runners/a%2Fb%3Fc/channel");
    }

    #[test]
    fn a_slot_says_which_it_is() {
        let uri = |slot| {
            let target = Target::new("http://host", "r", "key", slot).unwrap();
            target.request().uri().to_string()
        };
        let whole = "ws://host/v0/runners/r/channel";
        assert_eq!(uri(Slot::WHOLE), whole);
        let second = Slot::new(1, 3).unwrap();
        assert_eq!(uri(second), format!("{whole}?slot=1&slots=3"));
    }

    #[test]
    fn output_goes_below_the_runner_over_http() {
        let target = Target::new("https://host/kiln/", "r", "key", Slot::WHOLE).unwrap();
        let job = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1".parse().unwrap();
        let digest = Digest::from_hash(&[0; 32]).unwrap();
        let url = target.upload_url(job, &digest);
        let expected = format!("https://host/kiln/v0/runners/r/jobs/{job}/output/{digest}");
        assert_eq!(url.as_str(), expected);
    }

    #[test]
    fn the_key_is_not_shown_by_debug() {
        let target = Target::new("http://host", "r", "bencher_runner_secret", Slot::WHOLE).unwrap();
        assert!(!format!("{target:?}").contains("secret"));
    }

    #[test]
    fn a_key_with_a_line_break_is_refused() {
        assert!(matches!(
            Target::new("http://host", "r", "a\nb", Slot::WHOLE),
            Err(AgentError::Key)
        ));
    }
}
