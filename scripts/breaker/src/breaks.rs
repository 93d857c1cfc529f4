//! The small breaks: what an expression could be by mistake.

use quote::{ToTokens, quote};
use syn::{BinOp, Expr, Lit, UnOp, parse_quote};

/// What an expression could be by mistake, and what the mistake is.
pub fn of(expression: &Expr) -> Vec<(String, Expr)> {
    match expression {
        Expr::Binary(binary) => {
            let others = operators(&binary.op);
            let mut broken: Vec<(String, Expr)> = others
                .iter()
                .map(|other| {
                    let mut changed = binary.clone();
                    changed.op = *other;
                    (said(&binary.op, other), Expr::Binary(changed))
                })
                .collect();
            if let BinOp::Add(_) | BinOp::Sub(_) = binary.op
                && is_number(&binary.right)
            {
                let left = &binary.left;
                let what = format!("{} {} -> nothing", tokens(&binary.op), tokens(&binary.right));
                broken.push((what, parse_quote!(#left)));
            }
            broken
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
            let inner = &unary.expr;
            vec![("! -> nothing".to_owned(), parse_quote!(#inner))]
        }
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(yes) => {
                let no = !yes.value;
                vec![(format!("{} -> {no}", yes.value), parse_quote!(#no))]
            }
            _ => Vec::new(),
        },
        Expr::MethodCall(call) => method(call),
        Expr::Path(path) if path.path.get_ident().is_some_and(is_limit) => vec![
            ("limit -> one more".to_owned(), parse_quote!((#path + 1))),
            ("limit -> one less".to_owned(), parse_quote!((#path - 1))),
        ],
        Expr::Macro(macro_call) if macro_call.mac.path.is_ident("matches") => {
            vec![("matches -> matches not".to_owned(), parse_quote!(!#macro_call))]
        }
        _ => Vec::new(),
    }
}

/// Whether it holds a `let`, and so cannot be taken out of its condition.
pub fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

fn operators(operator: &BinOp) -> Vec<BinOp> {
    match operator {
        BinOp::Lt(_) => vec![parse_quote!(<=)],
        BinOp::Le(_) => vec![parse_quote!(<)],
        BinOp::Gt(_) => vec![parse_quote!(>=)],
        BinOp::Ge(_) => vec![parse_quote!(>)],
        BinOp::Eq(_) => vec![parse_quote!(!=)],
        BinOp::Ne(_) => vec![parse_quote!(==)],
        BinOp::And(_) => vec![parse_quote!(||)],
        BinOp::Or(_) => vec![parse_quote!(&&)],
        _ => Vec::new(),
    }
}

fn method(call: &syn::ExprMethodCall) -> Vec<(String, Expr)> {
    let renamed = |name: &str| {
        let mut changed = call.clone();
        changed.method = syn::Ident::new(name, call.method.span());
        Expr::MethodCall(changed)
    };
    let (receiver, name) = (&call.receiver, call.method.to_string());
    let (other, broken) = match name.as_str() {
        "is_some_and" => ("is_none_or", renamed("is_none_or")),
        "is_none_or" => ("is_some_and", renamed("is_some_and")),
        "is_some" => ("is_none", renamed("is_none")),
        "is_none" => ("is_some", renamed("is_some")),
        "is_ok" => ("is_err", renamed("is_err")),
        "is_err" => ("is_ok", renamed("is_ok")),
        "any" => ("all", renamed("all")),
        "all" => ("any", renamed("any")),
        "max" if !call.args.is_empty() => ("min", renamed("min")),
        "min" if !call.args.is_empty() => ("max", renamed("max")),
        "is_empty" => ("not empty", parse_quote!(!#call)),
        "take" if call.args.is_empty() => ("clone", parse_quote!(#receiver.clone())),
        "saturating_sub" | "saturating_add" if call.args.first().is_some_and(is_number) => {
            ("nothing", parse_quote!(#receiver))
        }
        _ => return Vec::new(),
    };
    let mut found = vec![(format!("{name} -> {other}"), broken)];
    if let "is_some_and" | "is_none_or" = name.as_str() {
        found.push((format!("{name} -> not {name}"), parse_quote!(!#call)));
    }
    found
}

/// Limits are constants.
fn is_limit(name: &syn::Ident) -> bool {
    let name = name.to_string();
    name.len() > 1 && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

fn is_number(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(literal.lit, Lit::Int(_)))
}

fn said(operator: &BinOp, other: &BinOp) -> String {
    format!("{} -> {}", tokens(operator), tokens(other))
}

fn tokens(part: &impl ToTokens) -> String {
    quote!(#part).to_string()
}
