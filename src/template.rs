//! Templates over a job's arguments at run time, such as `inventory:{sku}`: what `#[task]` checks while compiling, for tasks that are
//! not compiled in. `{{` and `}}` are braces in the text.

/// A template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(String),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// Every mistake in it, each with its mend.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let (mut pieces, mut mistakes) = (Vec::new(), Vec::new());
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            if brace.starts_with("{{") || brace.starts_with("}}") {
                plain.push_str(&brace[..1]);
                rest = &brace[2..];
            } else if let Some(after) = brace.strip_prefix('}') {
                mistakes.push("`}` stands alone: write `}}` for a brace in the text".to_owned());
                rest = after;
            } else if let Some((name, after)) = brace[1..].split_once('}') {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    mistakes.push(format!(
                        "`{{{name}}}` names no argument: write a name alone in braces, or `{{{{` for a brace in the text"
                    ));
                }
                pieces.push(Piece::Field(name.to_owned()));
                rest = after;
            } else {
                mistakes.push("`{` is never closed: write `{{` for a brace in the text".to_owned());
                rest = &brace[1..];
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if mistakes.is_empty() { Ok(Self(pieces)) } else { Err(mistakes) }
    }

    /// The arguments that it names, in order.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Field(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Fills it in; `value` gives each argument's text, or `None` for one that is missing, which is then the answer.
    ///
    /// # Errors
    /// The name of a missing argument.
    pub fn render(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field(name) => out.push_str(&value(name).ok_or(name.as_str())?),
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> Result<String, String> {
        let template = Template::parse(text).map_err(|mistakes| mistakes.join("; "))?;
        let value = |name: &str| (name != "missing").then(|| format!("<{name}>"));
        template.render(value).map_err(str::to_owned)
    }

    #[test]
    fn arguments_are_filled_in_and_double_braces_are_text() {
        assert_eq!(rendered("inventory:{sku}").as_deref(), Ok("inventory:<sku>"));
        assert_eq!(rendered("{a}{b}").as_deref(), Ok("<a><b>"));
        assert_eq!(rendered("{{x}} {a}").as_deref(), Ok("{x} <a>"));
        assert_eq!(rendered("").as_deref(), Ok(""));
        assert_eq!(rendered("{missing}"), Err("missing".into()));
    }

    #[test]
    fn every_mistake_is_said() {
        for (text, part) in [
            ("a{", "never closed"),
            ("a}b", "stands alone"),
            ("{}", "names no argument"),
            ("{a b}", "names no argument"),
            ("{a:?}", "names no argument"),
        ] {
            let mistake = rendered(text).expect_err(text);
            assert!(mistake.contains(part), "{text}: {mistake}");
        }
        assert_eq!(Template::parse("} {").expect_err("two").len(), 2);
    }
}
