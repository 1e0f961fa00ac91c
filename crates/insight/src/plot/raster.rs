//! A canvas of pixels.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts as _};

use super::canvas::{Anchor, BLACK, Canvas, Colour, Spot, Stroke};

/// A letter of the font is so wide and so high.
const LETTER: i32 = 8;

pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Row by row, red, green and blue.
    pub(super) pixels: Vec<u8>,
}

impl Raster {
    pub(super) fn new(width: u32, height: u32) -> Self {
        let bytes = width as usize * height as usize * 3;
        Self {
            width,
            height,
            pixels: vec![0xff; bytes],
        }
    }

    /// Colours a pixel by so much of itself, from 0 to 1; pixels outside are left alone.
    fn blend(&mut self, x: i32, y: i32, colour: Colour, cover: f64) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
            return;
        };
        if x >= self.width || y >= self.height || cover <= 0.0 {
            return;
        }
        let start = (y as usize * self.width as usize + x as usize) * 3;
        let cover = cover.min(1.0);
        for (pixel, ink) in self.pixels[start..start + 3].iter_mut().zip(colour.0) {
            let mixed = f64::from(*pixel) * (1.0 - cover) + f64::from(ink) * cover;
            *pixel = byte(mixed);
        }
    }

    /// Colours every pixel by how much of it lies within `reach` of the line from `from` to `to`.
    fn stroke(&mut self, from: Spot, to: Spot, reach: f64, colour: Colour) {
        let low = |a: f64, b: f64| pixel(a.min(b) - reach - 1.0).max(0);
        let high = |a: f64, b: f64, most: u32| {
            pixel(a.max(b) + reach + 1.0).min(i32::try_from(most).unwrap_or(i32::MAX))
        };
        for y in low(from.1, to.1)..=high(from.1, to.1, self.height) {
            for x in low(from.0, to.0)..=high(from.0, to.0, self.width) {
                let centre = (f64::from(x) + 0.5, f64::from(y) + 0.5);
                let cover = reach + 0.5 - distance(centre, from, to);
                self.blend(x, y, colour, cover);
            }
        }
    }

    fn letter(&mut self, letter: char, left: i32, top: i32) {
        // Units and names are not all ASCII: microseconds have a letter of their own.
        let rows = BASIC_FONTS
            .get(letter)
            .or_else(|| LATIN_FONTS.get(letter))
            .or_else(|| GREEK_FONTS.get(letter))
            .or_else(|| BASIC_FONTS.get('?'))
            .unwrap_or_default();
        for (y, row) in (top..).zip(rows) {
            for (bit, x) in (0..8).zip(left..) {
                if row & (1 << bit) != 0 {
                    self.blend(x, y, BLACK, 1.0);
                }
            }
        }
    }
}

impl Canvas for Raster {
    fn size(&self) -> (f64, f64) {
        (f64::from(self.width), f64::from(self.height))
    }

    fn line(&mut self, from: Spot, to: Spot, stroke: Stroke) {
        self.stroke(from, to, stroke.width / 2.0, stroke.colour);
    }

    fn dot(&mut self, at: Spot, radius: f64, colour: Colour) {
        self.stroke(at, at, radius, colour);
    }

    fn text(&mut self, at: Spot, anchor: Anchor, text: &str) {
        let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
        let width = letters.saturating_mul(LETTER);
        let mut left = match anchor {
            Anchor::Start => pixel(at.0),
            Anchor::Middle => pixel(at.0) - width / 2,
            Anchor::End => pixel(at.0) - width,
        };
        for letter in text.chars() {
            self.letter(letter, left, pixel(at.1) - LETTER);
            left = left.saturating_add(LETTER);
        }
    }
}

/// From a spot to the nearest of a line.
fn distance(spot: Spot, from: Spot, to: Spot) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let square = dx * dx + dy * dy;
    let along = if square > 0.0 {
        (((spot.0 - from.0) * dx + (spot.1 - from.1) * dy) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (spot.0 - from.0 - along * dx).hypot(spot.1 - from.1 - along * dy)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and pixels outside are left alone"
)]
fn pixel(place: f64) -> i32 {
    place.floor() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mixture of two bytes is a byte"
)]
fn byte(value: f64) -> u8 {
    value.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(letter: char) -> Vec<u8> {
        let mut raster = Raster::new(8, 8);
        raster.letter(letter, 0, 0);
        raster.pixels
    }

    #[test]
    fn letters_beyond_ascii_are_drawn_and_others_are_question_marks() {
        for letter in ['µ', 'é', 'ß', 'μ'] {
            assert_ne!(drawn(letter), drawn('?'), "{letter}");
            assert_ne!(drawn(letter), drawn(' '), "{letter}");
        }
        assert_eq!(drawn('火'), drawn('?'));
    }
}
