//! Plots: a chart becomes a picture for a browser (SVG), for a pull request (PNG), or for a terminal.

mod canvas;
mod chart;
mod draw;
mod png;
mod raster;
mod scale;
mod svg;
mod terminal;
mod ticks;

pub use chart::{Chart, ChartLine, ChartPoint, XAxis};
pub use terminal::terminal;

use raster::Raster;
use svg::Svg;

/// The size of pictures, in pixels.
pub const WIDTH: u32 = 1024;
pub const HEIGHT: u32 = 768;
/// The most lines that a picture shows; more could not be told apart.
pub const MAX_LINES: usize = 10;

/// A picture whose lines stay sharp at every size.
pub fn svg(chart: &Chart) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    draw::draw(chart, &mut svg);
    svg.finish()
}

/// A picture that every viewer shows.
pub fn png(chart: &Chart) -> Vec<u8> {
    let mut raster = Raster::new(WIDTH, HEIGHT);
    draw::draw(chart, &mut raster);
    png::encode(&raster)
}

#[cfg(test)]
mod tests;
