//! What a judgement costs: 1, 10 and 100 rules, for a request that the last rule decides.
//!
//! Rules are of mixed kinds in the proportions of a usual site: directories, suffixes, hosts, a
//! glob and an expression in ten. The request matches no rule but the last, the worst case.

use criterion::{Criterion, criterion_group, criterion_main};
use rules::{ClassNames, Described, RuleSpec, Rules};
use std::hint::black_box;

fn rule(number: usize) -> RuleSpec {
    let mut spec = RuleSpec { class: Some("cpu".to_owned()), ..RuleSpec::default() };
    match number % 10 {
        0..=4 => spec.path_prefix = vec![format!("/application-{number}/")],
        5 | 6 => spec.path_suffix = vec![format!(".ext{number}")],
        7 => spec.host = vec![format!("site-{number}.example.net")],
        8 => spec.path_glob = vec![format!("/shop/*/order-{number}/**")],
        _ => spec.path_regex = vec![format!("^/v[0-9]+/item-{number}/[a-z]+$")],
    }
    spec
}

fn judge(criterion: &mut Criterion) {
    let url = "http://www.example.com/~lowe/papers/index.html?page=2&sort=year";
    let request = Described::new("GET", url).expect("the URL is well formed");
    let mut group = criterion.benchmark_group("judge");
    for count in [0, 1, 10, 100] {
        let mut specs: Vec<_> = (1..count).map(rule).collect();
        if count > 0 {
            let path_prefix = vec!["/~lowe/".to_owned()];
            let class = Some("disk".to_owned());
            specs.push(RuleSpec { path_prefix, class, ..RuleSpec::default() });
        }
        let rules = Rules::compile(specs, ClassNames::default()).expect("the rules are right");
        group.bench_function(format!("{count} rules"), |bencher| {
            bencher.iter(|| rules.judge(black_box(&request)));
        });
    }
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);
