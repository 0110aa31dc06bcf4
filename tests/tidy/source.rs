//! Source files as the rules see them: the text, and the code without comments and strings.

use std::fs;
use std::path::Path;

/// A file of Rust.
pub struct Source {
    /// Where it lies, from the root of the project, with `/` between folders.
    pub path: String,
    /// Its lines.
    pub text: Vec<String>,
    /// The same lines; what stands in comments, strings and characters is blank.
    pub code: Vec<String>,
    /// Lines of functions and modules that exist only in tests.
    tests: Vec<bool>,
}

/// A function: its name and its lines, numbered from 0, both included.
pub struct Function {
    pub name: String,
    pub first: usize,
    pub last: usize,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let mut source = Self {
            path: path.to_owned(),
            text: lines(text),
            code: lines(&blank(text)),
            tests: Vec::new(),
        };
        source.tests = source.test_lines();
        source
    }

    /// Whether a line is only there for tests, benchmarks, examples or fuzzing.
    pub fn is_test(&self, line: usize) -> bool {
        let apart = ["tests", "benches", "examples", "fuzz"];
        self.path.split('/').any(|part| apart.contains(&part)) || self.tests[line]
    }

    /// Every function that has a body.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (first, line) in self.code.iter().enumerate() {
            for (column, _) in line.match_indices("fn ") {
                let before = line[..column].chars().next_back();
                if before.is_some_and(is_word) {
                    continue;
                }
                let name = line[column + 3..].chars().take_while(|char| is_word(*char));
                let name = name.collect::<String>();
                if let (false, Some(last)) = (name.is_empty(), self.end_of(first, column)) {
                    found.push(Function { name, first, last });
                }
            }
        }
        found
    }

    /// Last line of the item that begins here; `None` if it has no body in braces.
    fn end_of(&self, first: usize, column: usize) -> Option<usize> {
        let (mut braces, mut others) = (0, 0);
        for (at, line) in self.code.iter().enumerate().skip(first) {
            let from = if at == first { column } else { 0 };
            for char in line[from..].chars() {
                match char {
                    '(' | '[' => others += 1,
                    ')' | ']' => others -= 1,
                    '{' => braces += 1,
                    '}' => braces -= 1,
                    ';' if braces == 0 && others == 0 => return None,
                    _ => {}
                }
                if char == '}' && braces == 0 && others == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    fn test_lines(&self) -> Vec<bool> {
        let mut tests = vec![false; self.text.len()];
        for (at, line) in self.code.iter().enumerate() {
            let column = line.find("#[cfg(test)]").map(|at| at + "#[cfg(test)]".len());
            if let Some(last) = column.and_then(|column| self.end_of(at, column)) {
                tests[at..=last].fill(true);
            }
        }
        tests
    }
}

/// Whether a character may stand in a name.
pub fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether `word` stands in `line` with no letter or digit beside it.
pub fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open = |edge: Option<char>, beside: Option<char>| {
            !edge.is_some_and(is_word) || !beside.is_some_and(is_word)
        };
        open(word.chars().next(), before) && open(word.chars().next_back(), after)
    })
}

/// Every file below `root` with this ending, but for what builds leave behind, sorted.
pub fn files(root: &Path, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folders of the project are readable") {
            let path = entry.expect("so are their entries").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "demo-out" {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                let path = path.strip_prefix(root).expect("it was found there");
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// The text with spaces instead of comments, strings and characters; lines stay where they are.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|char| if *char == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Where the comment, string or character that begins at `at` ends; `at` if none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let char = |ahead: usize| chars.get(at + ahead).copied().unwrap_or('\0');
    let from = |start: usize, found: &dyn Fn(usize) -> Option<usize>| {
        (start..chars.len()).find_map(found).unwrap_or(chars.len())
    };
    match (char(0), char(1)) {
        ('/', '/') => from(at, &|i| (chars[i] == '\n').then_some(i)),
        ('/', '*') => from(at + 2, &|i| (chars[i - 1..].starts_with(&['*', '/'])).then_some(i + 1)),
        ('"', _) => string_end(chars, at),
        ('\'', '\\') => from(at + 3, &|i| (chars[i] == '\'').then_some(i + 1)),
        ('\'', _) if char(2) == '\'' => at + 3,
        ('r', '"' | '#') if at == 0 || !is_word(chars[at - 1]) || chars[at - 1] == 'b' => {
            let hashes = chars[at + 1..].iter().take_while(|char| **char == '#').count();
            if char(1 + hashes) != '"' {
                return at;
            }
            let mut close = vec!['"'];
            close.resize(1 + hashes, '#');
            from(at + 2 + hashes, &|i| chars[i..].starts_with(&close).then_some(i + close.len()))
        }
        _ => at,
    }
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != '"' {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(chars.len())
}
