//! Keys that people and runners hold. Only their SHA-256 is stored.

use kiln_model::Entropy;
use sha2::{Digest as _, Sha256};

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const RANDOM_CHARACTERS: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    User,
    Project,
    Runner,
}

impl KeyKind {
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::User => "bencher_user_",
            Self::Project => "bencher_run_",
            Self::Runner => "bencher_runner_",
        }
    }
}

/// A new key: the prefix and thirty letters and digits, about 178 bits.
pub(crate) fn mint(kind: KeyKind, entropy: &dyn Entropy) -> String {
    let mut key = kind.prefix().to_owned();
    let length = key.len() + RANDOM_CHARACTERS;
    while key.len() < length {
        let mut bytes = [0; 64];
        entropy.fill(&mut bytes);
        // 248 is the largest multiple of 62 in a byte: what lies above would favour the first letters.
        for byte in bytes.into_iter().filter(|byte| *byte < 248) {
            if key.len() < length {
                key.push(char::from(ALPHABET[usize::from(byte % 62)]));
            }
        }
    }
    key
}

/// The longer form of a runner's credential: the prefix and 64 hex digits.
pub(crate) fn mint_runner_token(entropy: &dyn Entropy) -> String {
    let mut random = [0; 32];
    entropy.fill(&mut random);
    format!(
        "{}{}",
        KeyKind::Runner.prefix(),
        kiln_kernel::hex::encode(&random)
    )
}

/// Eight letters and digits to put behind a slug that is taken.
pub(crate) fn mint_suffix(entropy: &dyn Entropy) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut random = [0; 8];
    entropy.fill(&mut random);
    random
        .into_iter()
        .map(|byte| char::from(DIGITS[usize::from(byte % 36)]))
        .collect()
}

pub(crate) fn hash(key: &str) -> String {
    kiln_model::Digest::from_hash(&Sha256::digest(key))
        .expect("SHA-256 has 32 bytes")
        .hex()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    #[derive(Debug, Default)]
    struct Counting(AtomicU8);
    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                *byte = self.0.fetch_add(7, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn keys_have_the_form_stock_clients_insist_on() {
        let entropy = Counting::default();
        let key = mint(KeyKind::Runner, &entropy);
        assert_eq!(key.len(), 45);
        assert!(
            key.strip_prefix("bencher_runner_")
                .unwrap()
                .bytes()
                .all(|b| b.is_ascii_alphanumeric())
        );
        assert_eq!(mint(KeyKind::User, &entropy).len(), 43);
        assert_ne!(hash(&key), hash(&mint(KeyKind::Runner, &entropy)));
        assert_eq!(hash(&key).len(), 64);
        assert_eq!(mint(KeyKind::Project, &entropy).len(), 42);
    }

    #[test]
    fn the_longer_form_of_a_runners_credential_is_64_hex_digits() {
        let token = mint_runner_token(&Counting::default());
        assert_eq!(token.len(), 79);
        let digits = token.strip_prefix("bencher_runner_").unwrap();
        assert!(digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
