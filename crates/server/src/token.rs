//! Short-lived tokens that the server signs and only the server reads: JSON Web Tokens, HS256 and nothing else.
//!
//! The header is a constant that must match to the byte, so there is no algorithm to be confused about.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use kiln_model::Millis;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// `{"alg":"HS256","typ":"JWT"}`.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
/// No token of ours is longer; a longer one is not even hashed.
const MAX_LENGTH: usize = 8 * 1024;

/// What a token says. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) aud: Audience,
    pub(crate) exp: i64,
    pub(crate) iat: i64,
    pub(crate) iss: String,
    pub(crate) sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oci: Option<OciScope>,
    /// Further repositories, for clients that move blobs from one to another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) more: Vec<OciScope>,
}

impl Claims {
    /// What the bearer may do in a repository, by its exact name; none when the token does not speak of it.
    pub(crate) fn actions_in(&self, repository: &str) -> Option<&[Action]> {
        self.oci
            .iter()
            .chain(&self.more)
            .find(|scope| scope.repository.as_deref() == Some(repository))
            .map(|scope| scope.actions.as_slice())
    }

    /// The repositories in which the bearer may do this.
    pub(crate) fn opened_for(&self, action: Action) -> impl Iterator<Item = &str> {
        self.oci
            .iter()
            .chain(&self.more)
            .filter(move |scope| scope.actions.contains(&action))
            .filter_map(|scope| scope.repository.as_deref())
    }
}

/// Whom the token was made for, who shows it at the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Audience {
    /// Nobody in particular.
    #[serde(rename = "oci_public")]
    Public,
    /// A person.
    #[serde(rename = "oci_auth")]
    Person,
    /// The holder of a project's key.
    #[serde(rename = "oci_project")]
    Project,
    /// A runner, for one job's project.
    #[serde(rename = "oci_runner")]
    Runner,
}

/// What the bearer may do at the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OciScope {
    /// The repository, exactly as it stands in the URL; none opens only `/v2/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<String>,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Pull,
    Push,
}

/// Who signs: any server of the store, whatever it is called from outside. The secret is the store's.
const ISSUER: &str = "kiln";

/// Signs and checks tokens with one secret.
#[derive(Clone)]
pub(crate) struct Tokens {
    secret: Vec<u8>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    pub(crate) const fn new(secret: Vec<u8>) -> Self {
        Self { secret }
    }

    pub(crate) fn sign(
        &self,
        audience: Audience,
        subject: String,
        oci: Option<OciScope>,
        wall: Millis,
        seconds: i64,
    ) -> String {
        self.sign_all(audience, subject, oci.into_iter().collect(), wall, seconds)
    }

    /// The same for several repositories.
    pub(crate) fn sign_all(
        &self,
        audience: Audience,
        subject: String,
        mut scopes: Vec<OciScope>,
        wall: Millis,
        seconds: i64,
    ) -> String {
        let iat = wall.as_secs();
        let more = scopes.split_off(scopes.len().min(1));
        let claims = Claims {
            aud: audience,
            exp: iat + seconds,
            iat,
            iss: ISSUER.to_owned(),
            sub: subject,
            oci: scopes.pop(),
            more,
        };
        let body = serde_json::to_vec(&claims).expect("claims are plain data");
        let signed = format!("{HEADER}.{}", URL_SAFE_NO_PAD.encode(body));
        let signature = URL_SAFE_NO_PAD.encode(self.mac(&signed).finalize().into_bytes());
        format!("{signed}.{signature}")
    }

    /// The claims of a token that is ours, unchanged and not expired. Why one is refused is nobody's business.
    pub(crate) fn check(&self, token: &str, wall: Millis) -> Option<Claims> {
        if token.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.mac(signed).verify_slice(&signature).ok()?;
        let body = signed.strip_prefix(HEADER)?.strip_prefix('.')?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        (claims.iss == ISSUER && wall.as_secs() < claims.exp).then_some(claims)
    }

    fn mac(&self, signed: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes keys of any length");
        mac.update(signed.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_700_000_000_000);

    fn tokens() -> Tokens {
        Tokens::new(b"secret".to_vec())
    }

    fn signed() -> String {
        let scope = OciScope {
            repository: Some("p".to_owned()),
            actions: vec![Action::Pull],
        };
        tokens().sign(Audience::Runner, "runner".to_owned(), Some(scope), NOW, 600)
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        let token = signed();
        let claims = tokens().check(&token, NOW).unwrap();
        assert_eq!(claims.aud, Audience::Runner);
        assert!(
            tokens()
                .check(&token, NOW + std::time::Duration::from_secs(599))
                .is_some()
        );
        assert!(
            tokens()
                .check(&token, NOW + std::time::Duration::from_mins(10))
                .is_none()
        );
    }

    #[test]
    fn a_token_may_speak_of_several_repositories() {
        let scope = |name: &str, actions: &[Action]| OciScope {
            repository: Some(name.to_owned()),
            actions: actions.to_vec(),
        };
        let scopes = vec![
            scope("to", &[Action::Pull, Action::Push]),
            scope("from", &[Action::Pull]),
            scope("secret", &[]),
        ];
        let token = tokens().sign_all(Audience::Person, String::new(), scopes, NOW, 60);
        let claims = tokens().check(&token, NOW).unwrap();
        assert_eq!(
            claims.actions_in("to"),
            Some([Action::Pull, Action::Push].as_slice())
        );
        assert_eq!(claims.actions_in("from"), Some([Action::Pull].as_slice()));
        assert_eq!(claims.actions_in("secret"), Some([].as_slice()));
        assert_eq!(claims.actions_in("t"), None);
    }

    #[test]
    fn another_secret_algorithm_or_body_is_refused() {
        let token = signed();
        assert!(Tokens::new(b"other".to_vec()).check(&token, NOW).is_none());
        let (_, rest) = token.split_once('.').unwrap();
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
        assert!(tokens().check(&format!("{none}.{rest}"), NOW).is_none());
        let (body, _) = rest.split_once('.').unwrap();
        assert!(tokens().check(&format!("{none}.{body}."), NOW).is_none());
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last character of base 64 may carry unused bits; the decoder refuses those that are set.
            assert!(tokens().check(&changed, NOW).is_none(), "byte {at}");
        }
    }
}
