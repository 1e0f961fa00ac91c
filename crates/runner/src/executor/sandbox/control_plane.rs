//! Where the control plane is, for jobs with a network, which must not reach it.

use std::net::IpAddr;

use reqwest::Url;

use super::stage::StageError;

/// The addresses of these URLs' hosts as they are now: names move. A host that is not found cannot be kept out of reach.
pub(super) async fn addresses(urls: &[String]) -> Result<Vec<IpAddr>, StageError> {
    let mut addresses = Vec::new();
    for url in urls {
        addresses.extend(addresses_of(url).await?);
    }
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

async fn addresses_of(url: &str) -> Result<Vec<IpAddr>, StageError> {
    let unknown = |why: &str| {
        StageError::refused(format!(
            "a job with a network must not reach {url}, and where that is cannot be found out: {why}; correct the \
             runner's name servers, or use a spec without a network"
        ))
    };
    let parsed = Url::parse(url).map_err(|error| unknown(&error.to_string()))?;
    let host = parsed.host_str().ok_or_else(|| unknown("it has no host"))?;
    // An address of the sixth version comes in brackets, which are the URL's.
    let host = host.trim_matches(['[', ']']);
    let port = parsed.port_or_known_default().unwrap_or_default();
    let found = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| unknown(&error.to_string()))?;
    Ok(found.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_are_found_by_address_and_by_name() {
        let urls = [
            "http://203.0.113.7:61016",
            "https://[2001:db8::7]/v2",
            "http://203.0.113.7",
        ]
        .map(str::to_owned);
        let addresses = addresses(&urls).await.unwrap();
        let expected: [IpAddr; 2] = [
            "203.0.113.7".parse().unwrap(),
            "2001:db8::7".parse().unwrap(),
        ];
        assert_eq!(addresses, expected);
        let named = super::addresses(&["http://localhost:1".to_owned()])
            .await
            .unwrap();
        assert!(named.iter().all(IpAddr::is_loopback), "{named:?}");
        assert!(!named.is_empty());
    }

    #[tokio::test]
    async fn a_host_that_cannot_be_found_is_told_with_what_to_do() {
        let error = addresses(&["http://no-such-host.invalid".to_owned()])
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-host.invalid"), "{error}");
        assert!(error.contains("use a spec without a network"), "{error}");
    }
}
