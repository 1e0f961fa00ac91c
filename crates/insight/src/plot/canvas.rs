//! What a chart is drawn on.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour(pub(super) [u8; 3]);

pub(super) const BLACK: Colour = Colour([0x22, 0x22, 0x22]);
pub(super) const GREY: Colour = Colour([0xdd, 0xdd, 0xdd]);
pub(super) const RED: Colour = Colour([0xd6, 0x27, 0x28]);

/// Colours that can be told apart also by those who see few of them (after Okabe and Ito).
pub(super) const PALETTE: [Colour; 7] = [
    Colour([0x00, 0x72, 0xb2]),
    Colour([0xe6, 0x9f, 0x00]),
    Colour([0x00, 0x9e, 0x73]),
    Colour([0xcc, 0x79, 0xa7]),
    Colour([0x56, 0xb4, 0xe9]),
    Colour([0xd5, 0x5e, 0x00]),
    Colour([0x99, 0x8e, 0x00]),
];

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub(super) colour: Colour,
    pub(super) width: f64,
}

/// Pixels from the upper left corner.
pub(super) type Spot = (f64, f64);

pub(super) trait Canvas {
    fn size(&self) -> (f64, f64);
    fn line(&mut self, from: Spot, to: Spot, stroke: Stroke);
    fn dot(&mut self, at: Spot, radius: f64, colour: Colour);
    /// `at` is where the foot of the text stands.
    fn text(&mut self, at: Spot, anchor: Anchor, text: &str);
}
