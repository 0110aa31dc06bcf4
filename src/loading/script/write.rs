//! A scenario as a file.

use super::draws::text as draw;
use super::sections::manner_text;
use super::{Kind, Script};
use policy::Class;
use std::fmt::Write;
use workload::draw::{Draw, Exponential};
use workload::visits::{Answer, Site};

/// A file that reads as `script`, every key written out.
pub fn text(script: &Script) -> String {
    let Script { name, source, pages, think_s, objects, html_bytes, .. } = script;
    let Script { embedded_bytes, services, gap_s, manner, .. } = script;
    let arrivals = match gap_s {
        Draw::Exponential(Exponential { mean }) => format!("rate = {}", 1.0 / mean),
        other => format!("gap_s = {}", draw(other)),
    };
    let Site { documents, objects: files, programs, exponent } = script.site;
    let mut out = format!(
        "name = {name:?}\nsource = {source:?}\n\n[arrivals]\n{arrivals}\n\n[session]\n\
         pages = {}\nthink_s = {}\n\n[page]\nobjects = {}\nobjects_with_html = {}\n\
         html_bytes = {}\nembedded_bytes = {}\n",
        draw(pages),
        draw(think_s),
        draw(objects),
        script.objects_with_html,
        draw(html_bytes),
        draw(embedded_bytes),
    );
    for Kind { share, html, secure, embedded } in services {
        let secure = if *secure { "secure = true\n" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(out, "\n[[service]]\nshare = {share}\n{}\n{secure}", answer(*html, "\n"));
        let parts = embedded
            .iter()
            .map(|(share, one)| format!("    {{ share = {share}, {} }},\n", answer(*one, ", ")));
        out += &format!("embedded = [\n{}]\n", parts.collect::<String>());
    }
    let _ = write!(
        out,
        "\n[site]\ndocuments = {documents}\nobjects = {files}\nprograms = {programs}\n\
         exponent = {exponent}\n\n[connections]\n{}",
        manner_text(*manner)
    );
    out
}

fn answer(answer: Answer, between: &str) -> String {
    let class = Class::NAMES[answer.class.index()];
    let program = if answer.program { format!("{between}program = true") } else { String::new() };
    format!("class = \"{class}\"{program}")
}
