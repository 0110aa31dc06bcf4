//! The blocks of the page that show one-way delivery and servers' agents.

use super::text::{Count, Text};
use crate::view::{AgentView, OnewayView};
use std::fmt::{self, Write};

/// Figures that say most: the kernel's counter and its meaning.
const FIGURES: &[(&str, &str)] = &[
    ("handed_over", "handed over"),
    ("moved", "moved on"),
    ("repeated", "answered by the kernel"),
    ("asked", "asked about"),
    ("forged", "forged envelopes"),
];

/// Writes it.
pub(super) fn section(html: &mut String, view: &OnewayView) -> fmt::Result {
    html.push_str("<section><h2>One way</h2><div class=\"figures\">");
    let open = Count(view.open());
    write!(html, "<div><span>connections open</span><b>{open}</b></div>")?;
    for (name, about) in FIGURES {
        let count = view.counted(name);
        let bad = if *name == "forged" && count > 0 { " class=\"bad\"" } else { "" };
        write!(html, "<div><span>{about}</span><b{bad}>{}</b></div>", Count(count))?;
    }
    html.push_str(
        "</div><table><thead><tr><th>server<th>state<th class=\"n\">open\
         <th class=\"n\">handed over<th>agent</tr></thead><tbody>",
    );
    for one in &view.servers {
        let (server, address, state) = (Text(&one.server), Text(&one.address), Text(&one.state));
        write!(
            html,
            "<tr><td><b>{server}</b> <small>{address}</small><td>{state}<td class=\"n\">{}\
             <td class=\"n\">{}",
            Count(one.open),
            Count(one.handed_over),
        )?;
        match &one.doubt {
            Some(doubt) => {
                write!(html, "<td class=\"bad\">relayed: {}</tr>", Text(&doubt.sentence))?
            }
            None => write!(html, "<td>{}</tr>", Text(&one.standing))?,
        }
    }
    html.push_str("</tbody></table>");
    for missing in view.interfaces.iter().filter_map(|one| one.sentence()) {
        write!(html, "<p class=\"bad\">{}</p>", Text(&missing))?;
    }
    locals(html, view)?;
    html.push_str("</section>");
    Ok(())
}

fn locals(html: &mut String, view: &OnewayView) -> fmt::Result {
    let locals = view.locals();
    let some: Vec<_> = locals.iter().filter(|(_, count)| **count > 0).collect();
    if some.is_empty() {
        return Ok(());
    }
    html.push_str("<p class=\"quiet\">Relayed all the same: ");
    for (index, (why, count)) in some.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(html, "{comma}{} {}", Text(why), Count(*count))?;
    }
    html.push_str("</p>");
    Ok(())
}

/// Writes how agents do, if there are any.
pub(super) fn agents(html: &mut String, agents: &[AgentView]) -> fmt::Result {
    if agents.is_empty() {
        return Ok(());
    }
    html.push_str(
        "<section><h2>Agents</h2><table><thead><tr><th>agent<th class=\"n\">report\
         <th class=\"n\">CPU<th class=\"n\">disk\
         <th class=\"n\">disk queue<th>trouble</tr></thead><tbody>",
    );
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |s| format!("{:.0} %", s * 100.));
    for one in agents {
        let trouble: Vec<&str> =
            one.fault.iter().chain(&one.complaints).map(String::as_str).collect();
        let age = one.age_s.map_or("never".to_owned(), |age_s| format!("{age_s:.1} s ago"));
        let queue = one.disk_queue.map_or("-".to_owned(), |queue| format!("{queue:.1}"));
        write!(
            html,
            "<tr><td>{} <small>{}</small><td class=\"n\">{age}<td class=\"n\">{}<td class=\"n\">{}\
             <td class=\"n\">{queue}<td class=\"bad\">{}</tr>",
            Text(&one.server),
            Text(&one.address),
            share(one.cpu_busy),
            share(one.disk_busy),
            Text(&trouble.join("; ")),
        )?;
    }
    html.push_str("</tbody></table></section>");
    Ok(())
}
