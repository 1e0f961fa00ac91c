//! A chart in a terminal, drawn with Braille dots: eight to a character.

use std::fmt::Write as _;

use super::chart::Chart;
use super::ticks::{Tick, measured};
use crate::statistics::number::{float, floor_index};

/// So many rows to a number on the left.
const ROWS_OF_A_TICK: f64 = 2.5;
const DOTS_OF_A_ROW: usize = 4;

/// Draws the lines of a chart into so many columns and rows of characters, with the vertical axis on the left. Points with an
/// alert are crosses.
pub fn terminal(chart: &Chart, columns: usize, rows: usize) -> String {
    let (Some(x), Some(y)) = (chart.x_range(), chart.y_range()) else {
        return "no data\n".to_owned();
    };
    let rows = rows.max(4);
    let ticks = measured(y, &chart.units, float(rows) / ROWS_OF_A_TICK);
    let widths = ticks.iter().map(|tick| tick.label.chars().count());
    let margin = widths.max().unwrap_or_default();
    let columns = columns.saturating_sub(margin + 1).max(10);
    let mut dots = Dots::new(columns, rows);
    let spot = |at_x: f64, at_y: f64| {
        (
            x.place(at_x) * float(columns * 2 - 1),
            (1.0 - y.place(at_y)) * float(rows * DOTS_OF_A_ROW - 1),
        )
    };
    for line in &chart.lines {
        for two in line.points.windows(2) {
            dots.line(spot(two[0].x, two[0].y), spot(two[1].x, two[1].y));
        }
        for point in &line.points {
            let (across, down) = spot(point.x, point.y);
            if point.alert {
                dots.cross(across, down);
            } else {
                dots.dot(across, down);
            }
        }
    }
    let mut text = String::new();
    let row_of = |tick: &Tick| floor_index(spot(x.low, tick.at).1.round()) / DOTS_OF_A_ROW;
    for row in 0..rows {
        let tick = ticks.iter().find(|tick| row_of(tick) == row);
        let (label, axis) = tick.map_or(("", '│'), |tick| (&*tick.label, '┤'));
        let line = dots.row(row);
        writeln!(text, "{label:>margin$}{axis}{line}").expect("a string takes everything");
    }
    let (from, to) = (chart.x_label(x.low), chart.x_label(x.high));
    let gap = columns.saturating_sub(from.chars().count());
    writeln!(text, "{:margin$} {from}{to:>gap$}", "").expect("a string takes everything");
    text
}

struct Dots {
    columns: usize,
    cells: Vec<u8>,
    crosses: Vec<bool>,
}

impl Dots {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            cells: vec![0; columns * rows],
            crosses: vec![false; columns * rows],
        }
    }

    fn dot(&mut self, across: f64, down: f64) {
        /// The bits of a Braille character, from the left column down and then the right one.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (across, down) = (floor_index(across.round()), floor_index(down.round()));
        let cell = down / DOTS_OF_A_ROW * self.columns + across / 2;
        if across / 2 < self.columns
            && let Some(cell) = self.cells.get_mut(cell)
        {
            *cell |= BITS[across % 2][down % DOTS_OF_A_ROW];
        }
    }

    fn cross(&mut self, across: f64, down: f64) {
        let (across, down) = (floor_index(across.round()), floor_index(down.round()));
        let cell = down / DOTS_OF_A_ROW * self.columns + across / 2;
        if let Some(cross) = self.crosses.get_mut(cell) {
            *cross = true;
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = floor_index(dx.abs().max(dy.abs())) + 1;
        for step in 0..=steps {
            let share = float(step) / float(steps);
            self.dot(from.0 + dx * share, from.1 + dy * share);
        }
    }

    fn row(&self, row: usize) -> String {
        let cells = row * self.columns..(row + 1) * self.columns;
        let letters = cells.map(|cell| {
            if self.crosses[cell] {
                return '×';
            }
            let code = 0x2800 + u32::from(self.cells[cell]);
            char::from_u32(code).unwrap_or(' ')
        });
        letters.collect()
    }
}
