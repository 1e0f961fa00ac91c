use super::*;

fn chart() -> Chart {
    let points = [1.0, 2.0, 1.5, 9.0]
        .into_iter()
        .zip(0_u32..)
        .map(|(y, x)| ChartPoint {
            upper_limit: Some(5.0),
            alert: y > 5.0,
            ..ChartPoint::plain(f64::from(x), y)
        });
    Chart {
        title: "adder <script>".to_owned(),
        x_axis: XAxis::Version,
        units: "ns".to_owned(),
        lines: vec![ChartLine {
            label: "main & host".to_owned(),
            points: points.collect(),
            changes: vec![3],
        }],
    }
}

fn empty() -> Chart {
    Chart {
        lines: Vec::new(),
        ..chart()
    }
}

#[test]
fn an_svg_shows_every_point_and_no_markup_of_names() {
    let svg = svg(&chart());
    assert_eq!(svg.matches("<circle").count(), 4);
    assert_eq!(svg.matches("r=\"6\"").count(), 1);
    assert!(svg.contains("adder &lt;script&gt;") && svg.contains("main &amp; host"));
    assert!(!svg.contains("<script"));
}

#[test]
fn a_png_has_its_size_and_ink_of_every_kind() {
    let png = png(&chart());
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(png[16..24], [0, 0, 4, 0, 0, 0, 3, 0]);
    assert!(png.ends_with(b"IEND\xae\x42\x60\x82"));
    let mut raster = Raster::new(WIDTH, HEIGHT);
    draw::draw(&chart(), &mut raster);
    let has = |colour: [u8; 3]| raster.pixels.as_chunks::<3>().0.contains(&colour);
    assert!(has([0xff; 3]) && has(canvas::RED.0) && has(canvas::PALETTE[0].0));
}

#[test]
fn the_same_chart_is_the_same_picture() {
    assert_eq!(png(&chart()), png(&chart()));
}

#[test]
fn a_terminal_shows_axes_a_line_and_a_cross_for_an_alert() {
    let text = terminal(&chart(), 60, 12);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 13);
    assert_eq!(text.matches('×').count(), 1);
    assert!(lines[12].trim().starts_with('0'));
    let labels: Vec<&str> = lines
        .iter()
        .filter_map(|line| Some(line.split_once('┤')?.0.trim()))
        .collect();
    assert_eq!(labels, ["8", "6", "4", "2"]);
    assert!(
        lines.iter().all(|line| line.chars().count() <= 60),
        "{text}"
    );
}

#[test]
fn a_chart_without_data_says_so() {
    assert!(svg(&empty()).contains("no data"));
    assert!(png(&empty()).len() > 100);
    assert_eq!(terminal(&empty(), 40, 10), "no data\n");
}

#[test]
fn one_point_and_a_flat_line_are_drawn() {
    for points in [1, 5] {
        let mut chart = chart();
        chart.lines[0].points = vec![ChartPoint::plain(1.0, 3.0); points];
        assert_eq!(svg(&chart).matches("<circle").count(), points);
        terminal(&chart, 40, 8);
    }
}

#[test]
fn a_line_that_hardly_varies_looks_level() {
    let mut chart = chart();
    let values = [100.0, 100.01, 100.1, 99.99];
    let points = values.into_iter().zip(0_u32..);
    chart.lines[0].points = points
        .map(|(y, x)| ChartPoint::plain(f64::from(x), y))
        .collect();
    let drawn = terminal(&chart, 40, 10);
    let is_blank = |line: &&str| line.chars().all(|c| "│┤ \u{2800}.0123456789".contains(c));
    let with_dots = drawn.lines().filter(|line| !is_blank(line)).count();
    assert!(with_dots <= 2, "{drawn}");
}

#[test]
fn times_within_a_day_are_told_by_the_hour() {
    let at = |hours: f64| ChartPoint::plain(1_794_730_576_789.0 + hours * 3_600_000.0, 1.0);
    let mut chart = chart();
    chart.x_axis = XAxis::Time;
    chart.lines[0].points = vec![at(0.0), at(3.0)];
    let hours = terminal(&chart, 60, 4);
    assert!(
        hours.contains("11-15 08:16") && hours.contains("11-15 11:16"),
        "{hours}"
    );
    chart.lines[0].points = vec![at(0.0), at(72.0)];
    let days = terminal(&chart, 60, 4);
    assert!(
        days.contains("2026-11-15") && days.contains("2026-11-18"),
        "{days}"
    );
}
