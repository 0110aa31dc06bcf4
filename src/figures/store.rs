//! Figures on disk: a CSV each.

use anyhow::{Context, Result, anyhow};
use sim::{Figure, Row, Study};
use std::fs;
use std::path::Path;

/// Writes a figure's rows to `<folder>/<id>.csv`.
///
/// # Errors
/// Those of the file system, with the file's name.
pub fn save(folder: &Path, study: &Study, figure: &Figure) -> Result<()> {
    let path = folder.join(format!("{}.csv", study.id));
    let text = figure.csv(study.x.name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads what [`save`] wrote.
///
/// # Errors
/// A file that is missing or has other columns than the study.
pub fn load(folder: &Path, study: &Study) -> Result<Figure> {
    let path = folder.join(format!("{}.csv", study.id));
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}: `baton figures` writes it", path.display()))?;
    let empty = Figure { columns: study.columns, rows: Vec::new() };
    let mut lines = text.lines();
    if lines.next() != empty.csv(study.x.name).lines().next() {
        return Err(anyhow!("{} has other columns: make it again", path.display()));
    }
    let rows = lines.enumerate().map(|(number, line)| {
        row(line, study.columns.len())
            .ok_or_else(|| anyhow!("{} line {}: not a row: {line}", path.display(), number + 2))
    });
    Ok(Figure { rows: rows.collect::<Result<_>>()?, ..empty })
}

/// `curve,x,value,...`, where the curve's name may be quoted and have commas itself.
fn row(line: &str, values: usize) -> Option<Row> {
    let mut fields: Vec<&str> = line.rsplitn(values + 2, ',').collect();
    let curve = fields.pop()?;
    let curve = match curve.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None if curve.contains(',') => return None,
        None => curve.to_owned(),
    };
    let x = fields.pop()?.parse().ok()?;
    let numbers: Vec<f64> =
        fields.iter().rev().map(|field| field.parse()).collect::<Result<_, _>>().ok()?;
    (numbers.len() == values).then(|| Row::new(curve, x, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Axis;

    const STUDY: Study = Study {
        id: "test",
        title: "a test",
        source: "none",
        x: Axis::linear("nodes"),
        y: Axis::linear("requests/s"),
        columns: &["rps", "miss ratio"],
        caption: |_| String::new(),
        runs: |_, _| Vec::new(),
    };

    #[test]
    fn what_was_saved_is_loaded() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = vec![
            Row::new("lard, \"hot\"", 2.0, vec![1234.5, 0.25]),
            Row::new("wrr", 0.5, vec![1.0, 0.0]),
        ];
        let figure = Figure { columns: STUDY.columns, rows };
        save(folder.path(), &STUDY, &figure).expect("it is written");
        assert_eq!(load(folder.path(), &STUDY).expect("it is read"), figure);
    }

    #[test]
    fn a_broken_file_is_one_sentence_with_the_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = || format!("{:#}", load(folder.path(), &STUDY).expect_err("it is broken"));
        assert!(error().contains("cannot read"), "{}", error());
        let write = |text: &str| fs::write(folder.path().join("test.csv"), text).expect("written");
        write("curve,nodes,rps\n");
        assert!(error().contains("other columns"), "{}", error());
        write("curve,nodes,rps,miss ratio\nlard,1,2,3\nlard,1,2\n");
        assert!(error().contains("line 3"), "{}", error());
    }
}
