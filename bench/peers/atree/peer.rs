//! a-tree: arbitrary expressions over typed attributes, with undefined as a third truth value, as in tellwhen.
//!
//! a-tree has no BETWEEN, XOR or XNOR: they are written with AND and OR. It is measured as in protocol.py.

use a_tree::{ATree, AttributeDefinition};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const WARM_UP_SECONDS: f64 = 2.0;
const ROUND_SECONDS_MAX: f64 = 2.0;
const ROUND_SECONDS_MIN: f64 = 0.05;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder of workload files");
    let mut names = BTreeSet::new();
    let mut refused = Vec::new();
    let mut texts = Vec::new();
    for row in read(&folder, "subscriptions") {
        collect_attributes(&row["positive"], &mut names);
        let id = row["id"].as_u64().unwrap();
        match format_expression(&row["positive"]) {
            Some(said) => texts.push((id, said)),
            None => refused.push(json!([id, "there is no TRUE or FALSE"])),
        }
    }
    let events: Vec<Vec<(String, i64)>> = read(&folder, "events")
        .iter()
        .map(|event| {
            // Attributes must be declared; those of the subscriptions are.
            let known = event.as_object().unwrap().iter().filter(|(name, _)| names.contains(*name));
            known.map(|(name, value)| (name.clone(), value.as_i64().unwrap())).collect()
        })
        .collect();

    let before = read_resident_bytes();
    let begin = Instant::now();
    let definitions: Vec<_> = names.iter().map(|name| AttributeDefinition::integer(name)).collect();
    let mut tree = ATree::new(&definitions).unwrap();
    for (id, said) in &texts {
        if let Err(error) = tree.insert(id, said) {
            refused.push(json!([id, error.to_string()]));
        }
    }
    let built = begin.elapsed().as_secs_f64();
    let grown = read_resident_bytes() - before;

    let find = |event: &[(String, i64)]| -> Vec<u64> {
        let mut builder = tree.make_event();
        for (name, value) in event {
            builder.with_integer(name, *value).unwrap();
        }
        let event = builder.build().unwrap();
        tree.search(&event).unwrap().matches().iter().map(|id| **id).collect()
    };
    let begin = Instant::now();
    let mut matches: Vec<_> = events.iter().map(|event| find(event)).collect();
    let each = begin.elapsed().as_secs_f64() / events.len() as f64;
    matches.iter_mut().for_each(|ids| ids.sort());
    let timed_events = &events[..events.len().min(3.max((ROUND_SECONDS_MAX / each) as usize))];
    let time_round = |seconds: f64| -> f64 {
        let mut times = Vec::new();
        let begun = Instant::now();
        while times.is_empty() || begun.elapsed().as_secs_f64() < seconds {
            for event in timed_events {
                let begin = Instant::now();
                std::hint::black_box(find(event));
                times.push(begin.elapsed());
            }
        }
        times.sort();
        Duration::as_secs_f64(&times[times.len() / 2]) * 1e6
    };
    time_round(WARM_UP_SECONDS - each * events.len() as f64);
    let micros: Vec<f64> = (0..ROUNDS).map(|_| time_round(ROUND_SECONDS_MIN)).collect();
    let fewer = if timed_events.len() < events.len() { format!("; timed on {} events", timed_events.len()) } else { String::new() };
    println!(
        "{}",
        json!({
            "peer": "a-tree", "build_seconds": built, "bytes": grown, "micros": micros, "matches": matches,
            "refused": refused, "notes": format!("XOR and BETWEEN as AND and OR{fewer}"),
        })
    );
}

fn read(folder: &str, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn collect_attributes(form: &Value, names: &mut BTreeSet<String>) {
    if let Some(name) = form["attribute"].as_str() {
        names.insert(name.to_string());
    } else if let Some(object) = form.as_object() {
        object.values().flat_map(|parts| parts.as_array().unwrap()).for_each(|part| collect_attributes(part, names));
    }
}

/// Writes an expression in the language of a-tree; None if the expression contains TRUE or FALSE, which a-tree lacks.
fn format_expression(form: &Value) -> Option<String> {
    let object = form.as_object()?;
    if !object.contains_key("attribute") {
        let (word, parts) = object.iter().next()?;
        let inner: Option<Vec<String>> = parts.as_array()?.iter().map(format_expression).collect();
        return Some(format!("({})", inner?.join(&format!(" {word} "))));
    }
    let (name, operator, value) = (form["attribute"].as_str()?, form["operator"].as_str()?, &form["value"]);
    Some(match operator {
        "between" => format!("({name} >= {} and {name} <= {})", value[0], value[1]),
        "not between" => format!("({name} < {} or {name} > {})", value[0], value[1]),
        _ => format!("{name} {operator} {value}"),
    })
}

/// Resident bytes of this process.
fn read_resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<i64>().unwrap() * 4096
}
