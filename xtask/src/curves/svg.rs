//! Draws a chart with logarithmic axes as SVG that is readable on light and dark pages.

use std::fmt::Write;

/// One line of a chart: its name and its points.
pub(crate) type Series = (String, Vec<(f64, f64)>);

/// What a chart says beside its lines.
pub(crate) struct Labels<'a> {
    pub(crate) title: &'a str,
    /// Prints a value of an axis.
    pub(crate) x_value: fn(f64) -> String,
    pub(crate) y_value: fn(f64) -> String,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// Colours that have enough contrast on white and on black.
const COLOURS: [&str; 8] = [
    "#3b82f6", "#e0533d", "#22a06b", "#a855f7", "#d08700", "#0ea5b7", "#db4c9b", "#7c8798",
];

/// The range of an axis, in powers of ten.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logs = values.filter(|value| *value > 0.0).map(f64::log10);
    let (least, most) = logs.fold((f64::MAX, f64::MIN), |(least, most), log| {
        (least.min(log), most.max(log))
    });
    if least > most {
        return (0.0, 1.0);
    }
    let (least, most) = (least.floor(), most.ceil());
    (least, most.max(least + 1.0))
}

/// Returns the chart. Values that are not positive are left out.
pub(crate) fn chart(labels: &Labels<'_>, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|one| &one.1);
    let (x_least, x_most) = range(points().map(|point| point.0));
    let (y_least, y_most) = range(points().map(|point| point.1));
    let x_at =
        |value: f64| LEFT + (value.log10() - x_least) / (x_most - x_least) * (WIDTH - LEFT - RIGHT);
    let y_at = |value: f64| {
        HEIGHT - BOTTOM - (value.log10() - y_least) / (y_most - y_least) * (HEIGHT - TOP - BOTTOM)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{0}</title>\n<style>text{{fill:#57606a}}\
         .g{{stroke:#8c959f;stroke-opacity:.35}}@media(prefers-color-scheme:dark){{text{{fill:#adbac7}}}}</style>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{0}</text>\n",
        escaped(labels.title)
    );
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for (least, most, is_x) in [(x_least, x_most, true), (y_least, y_most, false)] {
        let mut power = least;
        while power <= most {
            let value = 10f64.powf(power);
            let drawn = if is_x {
                let (x, text) = (x_at(value), (labels.x_value)(value));
                format!(
                    "<path class=\"g\" d=\"M{x:.1} {TOP}V{bottom}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                    bottom + 18.0
                )
            } else {
                let (y, text) = (y_at(value), (labels.y_value)(value));
                format!(
                    "<path class=\"g\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                    LEFT - 6.0,
                    y + 4.0
                )
            };
            line(&mut svg, &drawn);
            power += 1.0;
        }
    }
    // Names stand beside the ends of their lines, moved down where they would overlap.
    let mut ends: Vec<(f64, usize)> = Vec::new();
    for (at, (_, points)) in series.iter().enumerate() {
        let drawn: Vec<String> = points
            .iter()
            .filter(|point| point.0 > 0.0 && point.1 > 0.0)
            .map(|&(x, y)| format!("{:.1},{:.1}", x_at(x), y_at(y)))
            .collect();
        let colour = COLOURS[at % COLOURS.len()];
        let dash = if at < COLOURS.len() {
            ""
        } else {
            " stroke-dasharray=\"5 3\""
        };
        line(
            &mut svg,
            &format!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>",
                drawn.join(" ")
            ),
        );
        if let Some(&(_, y)) = points.last() {
            ends.push((y_at(y), at));
        }
    }
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = TOP;
    for (y, at) in ends {
        let y = y.max(free);
        free = y + 15.0;
        line(
            &mut svg,
            &format!(
                "<text x=\"{}\" y=\"{:.1}\" style=\"fill:{}\">{}</text>",
                right + 8.0,
                y + 4.0,
                COLOURS[at % COLOURS.len()],
                escaped(&series[at].0)
            ),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn line(svg: &mut String, text: &str) {
    writeln!(svg, "{text}").expect("writing to a string");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points() {
        let labels = Labels {
            title: "a < b",
            x_value: |value| value.to_string(),
            y_value: |value| value.to_string(),
        };
        let series = [(
            "one".to_owned(),
            vec![(1.0, 1.0), (0.0, 5.0), (100.0, 1000.0)],
        )];
        let svg = chart(&labels, &series);
        assert!(svg.contains("points=\"80.0,370.0 570.0,40.0\""), "{svg}");
        assert!(svg.contains("a &lt; b"));
        assert!(chart(&labels, &[]).ends_with("</svg>\n"));
    }
}
