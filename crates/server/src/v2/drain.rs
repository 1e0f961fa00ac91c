//! What was sent with a request that is refused.

use std::fmt;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

/// A client that is still sending when the connection closes may never see the answer, so some of it is read. Whoever
/// sends more than this is a program of ours, which looks where the upload stands, or nobody who deserves the patience.
const PATIENCE_BYTES: usize = 8 * 1024 * 1024;

/// Reads the rest of a body and forgets it.
pub(super) async fn drain<S, E>(body: &mut S)
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: fmt::Display,
{
    let mut left = PATIENCE_BYTES;
    while let Some(Ok(bytes)) = body.next().await {
        match left.checked_sub(bytes.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    #[tokio::test]
    async fn patience_ends() {
        let piece = Bytes::from(vec![0; 1024 * 1024]);
        let mut body = stream::repeat_with(|| Ok::<_, String>(piece.clone())).take(100);
        drain(&mut body).await;
        assert_eq!(body.count().await, 100 - 9);
    }
}
