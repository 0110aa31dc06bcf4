//! The claims as a table, and the page that shows figures and claims beside what was published.

use sim::{Claim, Figures, Finding, Scale, Verdict, papers};
use std::fmt::Write;

/// How many claims came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// The inequality holds.
    pub reproduced: usize,
    /// It does not.
    pub not_reproduced: usize,
    /// The system is not simulated.
    pub not_simulated: usize,
    /// Claims whose finding is another than the one written beside them: a mistake of ours.
    pub unexpected: usize,
}

/// What the figures say about one claim, in words.
struct Line {
    claim: &'static Claim,
    outcome: &'static str,
    measured: String,
    why: &'static str,
}

impl Line {
    fn of(claim: &'static Claim, finding: Option<&Finding>, scale: Scale) -> Self {
        let measured = finding.map_or_else(|| "-".into(), |finding| finding.measured.clone());
        let (outcome, why) = match (claim.verdict, finding.map(|finding| finding.holds)) {
            // Verdicts and their analyses are about the full workloads.
            (_, Some(true)) if scale == Scale::Quick => ("reproduced", ""),
            (_, Some(false)) if scale == Scale::Quick => ("not reproduced", ""),
            (Verdict::NotSimulated(why), _) => ("not simulated", why),
            (Verdict::NotReproduced(why), Some(false)) => ("not reproduced", why),
            (Verdict::NotReproduced(_), _) => ("unexpected", "it holds, and we say it does not"),
            (Verdict::Reproduced, Some(true)) => ("reproduced", ""),
            (Verdict::Reproduced, _) => ("unexpected", "we say it holds, and it does not"),
        };
        Self { claim, outcome, measured, why }
    }
}

impl Verdicts {
    fn count(lines: &[Line]) -> Self {
        let with = |outcome: &str| lines.iter().filter(|line| line.outcome == outcome).count();
        let unexpected = with("unexpected");
        let holds = |line: &&Line| {
            line.outcome == "unexpected" && line.claim.verdict != Verdict::Reproduced
        };
        let reproduced = with("reproduced") + lines.iter().filter(holds).count();
        let not_simulated = with("not simulated");
        let not_reproduced = lines.len() - reproduced - not_simulated;
        Self { reproduced, not_reproduced, not_simulated, unexpected }
    }
}

/// The claims that can be judged by `figures` of this scale, as text for a terminal with a last
/// line that counts them.
pub fn table(figures: &Figures, scale: Scale) -> (String, Verdicts) {
    let lines = judged(figures, scale);
    let mut text = String::new();
    for line in &lines {
        let _ = writeln!(text, "{:9} {:15} {}", line.claim.id, line.outcome, line.claim.says);
        let _ = writeln!(text, "{:25} published: {}", "", line.claim.published);
        let _ = writeln!(text, "{:25} measured:  {}", "", line.measured);
        for (what, word) in [("depends", line.claim.depends), ("why", line.why)] {
            if !word.is_empty() {
                let _ = writeln!(text, "{:25} {:10} {word}", "", format!("{what}:"));
            }
        }
    }
    let counts = Verdicts::count(&lines);
    let Verdicts { reproduced, not_reproduced, not_simulated, .. } = counts;
    let _ = write!(
        text,
        "claims: {reproduced} reproduced, {not_reproduced} not reproduced, {not_simulated} not \
         simulated"
    );
    (text, counts)
}

/// The claims whose figures are there; those without figures always.
fn judged(figures: &Figures, scale: Scale) -> Vec<Line> {
    papers::claims()
        .filter(|claim| claim.needs.iter().all(|id| figures.contains_key(id)))
        .map(|claim| Line::of(claim, claim.finding(figures).as_ref(), scale))
        .collect()
}

const PREFACE: &str = "\
# Results of the simulator

What the papers published, made again by `baton figures`, which writes this page, the pictures and
the numbers behind them (a CSV beside each picture, with more columns than the picture shows). Every
run is deterministic: the same program gives the same bytes. What the models contain and leave out
is in [simulator.md](simulator.md).

A claim is an inequality over the figures. What does not come out stays as `not reproduced`, with
the analysis; a constant that was calibrated or chosen is named beside every claim that depends on
it.
";

/// The page `docs/RESULTS.md`, for figures that lie in `docs/figures`.
pub fn render(figures: &Figures) -> String {
    let mut page = String::from(PREFACE);
    let lines = judged(figures, Scale::Full);
    let Verdicts { reproduced, not_reproduced, not_simulated, .. } = Verdicts::count(&lines);
    let _ = write!(
        page,
        "\n## Claims\n\n{reproduced} reproduced, {not_reproduced} not reproduced, {not_simulated} \
         not simulated. `make claims` prints this table.\n\n\
         | claim | outcome | what was published | measured here | depends on; why |\n\
         |---|---|---|---|---|\n"
    );
    for line in &lines {
        let notes = match (line.claim.depends, line.why) {
            ("", why) => why.to_owned(),
            (depends, "") => format!("depends on {depends}"),
            (depends, why) => format!("depends on {depends}. {why}"),
        };
        let says = format!("{} *{}*", line.claim.says, line.claim.published);
        let cells = [line.claim.id, line.outcome, &says, &line.measured, &notes];
        let _ = writeln!(page, "| {} |", cells.map(cell).join(" | "));
    }
    page.push_str("\n## Figures\n");
    for study in papers::studies().filter(|study| figures.contains_key(study.id)) {
        let _ = write!(
            page,
            "\n### {}: {}\n\n![{}](figures/{}.svg)\n\n{} {} Made by `baton figures --only {}`; \
             numbers in [{}.csv](figures/{}.csv).\n",
            study.id,
            study.title,
            study.title,
            study.id,
            study.source,
            (study.caption)(Scale::Full),
            study.id,
            study.id,
            study.id,
        );
        let claims = lines.iter().filter(|line| line.claim.needs.contains(&study.id));
        for line in claims {
            let _ = write!(page, "\n- {} ({}): {}", line.claim.id, line.outcome, line.measured);
        }
        page.push('\n');
    }
    page
}

/// A cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(verdict: Verdict) -> &'static Claim {
        Box::leak(Box::new(Claim {
            id: "X-C1",
            says: "a is above b.",
            published: "a = 2 b",
            needs: &[],
            depends: "",
            verdict,
            judge: |_| Finding { holds: true, measured: "a = 3 b".into() },
        }))
    }

    #[test]
    fn a_finding_other_than_the_one_we_wrote_down_is_seen() {
        let line = |verdict, holds: bool| {
            let finding = Finding { holds, measured: String::new() };
            Line::of(claim(verdict), Some(&finding), Scale::Full)
        };
        let lines = [
            line(Verdict::Reproduced, true),
            line(Verdict::Reproduced, false),
            line(Verdict::NotReproduced("a constant is unknown"), false),
            line(Verdict::NotReproduced("a constant is unknown"), true),
            Line::of(claim(Verdict::NotSimulated("a prototype")), None, Scale::Full),
        ];
        let outcomes = lines.iter().map(|line| line.outcome).collect::<Vec<_>>();
        let (bad, not) = ("unexpected", "not reproduced");
        assert_eq!(outcomes, ["reproduced", bad, not, bad, "not simulated"]);
        let counts = Verdicts::count(&lines);
        let expected =
            Verdicts { reproduced: 2, not_reproduced: 2, not_simulated: 1, unexpected: 2 };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_cell_cannot_break_its_table() {
        assert_eq!(cell("a | b\n c"), "a \\| b c");
    }
}
