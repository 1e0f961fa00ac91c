//! What a frame says.

use super::{Node, bytes, number, text};
use crate::WireError;
use crate::wire::{Flags, IntentView, MessageView};

/// A frame of either kind, told apart by its magic.
pub fn frame(bytes: &[u8]) -> Result<Node, WireError> {
    if bytes.starts_with(b"LINT") {
        return IntentView::decode(bytes).map(|view| intent(&view));
    }
    MessageView::decode(bytes).map(|view| message(&view))
}

pub fn message(view: &MessageView<'_>) -> Node {
    Node::Fields(vec![
        ("frame", text("LMSG")),
        ("kind", text(view.kind.name())),
        ("flags", flags(view)),
        ("to_worker", number(view.to_worker)),
        ("route_worker", number(view.route_worker)),
        ("route_timestamp", number(view.route_timestamp)),
        (
            "from_worker",
            view.from_worker.map_or(Node::Nothing, number),
        ),
        ("message_id", bytes(view.id)),
        ("trace_id", view.trace_id.map_or(Node::Nothing, bytes)),
        ("payload", bytes(view.payload)),
    ])
}

/// An intent, and the message in it if it holds one.
pub fn intent(view: &IntentView<'_>) -> Node {
    let kind = match view {
        IntentView::OutboxEmit { .. } => "outbox-emit",
        IntentView::TimerArm { .. } => "timer-arm",
    };
    let body = view.message();
    let inner = MessageView::decode(body).map_or_else(|_| bytes(body), |inner| message(&inner));
    Node::Fields(vec![
        ("frame", text("LINT")),
        ("kind", text(kind)),
        ("due", view.due().map_or(Node::Nothing, |due| number(due.0))),
        ("message", inner),
    ])
}

fn flags(view: &MessageView<'_>) -> Node {
    let names = [
        (Flags::DURABLE, "durable"),
        (Flags::HIGH_PRIORITY, "high-priority"),
        (Flags::DEDUPE_REQUIRED, "dedupe-required"),
        (Flags::REQUIRES_ACK, "requires-ack"),
    ];
    let set = names
        .into_iter()
        .filter(|(flag, _)| view.flags.contains(*flag));
    Node::List(set.map(|(_, name)| text(name)).collect())
}
