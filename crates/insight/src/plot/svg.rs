//! A canvas that writes SVG.

use std::fmt::{self, Write as _};

use super::canvas::{Anchor, Canvas, Colour, Spot, Stroke};

pub(super) struct Svg {
    width: u32,
    height: u32,
    body: String,
}

impl Svg {
    pub(super) fn new(width: u32, height: u32) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        let Self {
            width,
            height,
            body,
        } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    fn element(&mut self, element: fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes everything");
    }
}

impl Canvas for Svg {
    fn size(&self) -> (f64, f64) {
        (f64::from(self.width), f64::from(self.height))
    }

    fn line(&mut self, from: Spot, to: Spot, stroke: Stroke) {
        let colour = Hex(stroke.colour);
        self.element(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
            from.0, from.1, to.0, to.1, stroke.width
        ));
    }

    fn dot(&mut self, at: Spot, radius: f64, colour: Colour) {
        let colour = Hex(colour);
        self.element(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{colour}\"/>",
            at.0, at.1
        ));
    }

    fn text(&mut self, at: Spot, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = Escaped(text);
        self.element(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>",
            at.0, at.1
        ));
    }
}

struct Hex(Colour);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Names come from users and harnesses: nothing of them is markup.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
