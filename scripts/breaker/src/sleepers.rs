//! Puts the breaks into a file: beside each expression what it could be by mistake, chosen when
//! the program runs.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Expr, File, Item, Local, Stmt, parse_quote};

use crate::breaks;

/// A mutant of one file.
pub struct Sleeper {
    pub id: u32,
    pub line: usize,
    pub what: String,
}

/// The mutants of one file, on their way into it.
pub struct Sleepers<'a> {
    pub found: Vec<Sleeper>,
    pub next: u32,
    left_out: &'a BTreeSet<u32>,
}

impl<'a> Sleepers<'a> {
    pub fn new(next: u32, left_out: &'a BTreeSet<u32>) -> Self {
        Self { found: Vec::new(), next, left_out }
    }

    pub fn put_into(&mut self, file: &mut File) {
        file.items.retain(|item| !matches!(item, Item::Mod(module) if is_test(&module.attrs)));
        self.visit_file_mut(file);
    }

    /// A number for a mutant; none where it cannot be.
    fn number(&mut self, span: Span, what: String) -> Option<u32> {
        let id = self.next;
        self.next += 1;
        if self.left_out.contains(&id) {
            return None;
        }
        self.found.push(Sleeper { id, line: span.start().line, what });
        Some(id)
    }

    /// Leaves out one condition of several.
    fn drop_conditions(&mut self, condition: &mut Expr, at: Span) {
        let Expr::Binary(binary) = condition else { return };
        if !matches!(binary.op, syn::BinOp::And(_)) {
            return;
        }
        for side in [&mut binary.left, &mut binary.right] {
            if breaks::binds(side) {
                self.drop_conditions(side, at);
            } else if let Some(id) = self.number(at, "condition -> true".to_owned()) {
                **side = parse_quote!((crate::mutants::awake(#id) || #side));
            }
        }
    }
}

impl VisitMut for Sleepers<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let sound = expression.clone();
        visit_mut::visit_expr_mut(self, expression);
        if breaks::binds(&sound) {
            return;
        }
        for (what, broken) in breaks::of(&sound) {
            if let Some(id) = self.number(sound.span(), what) {
                *expression =
                    parse_quote!((if crate::mutants::awake(#id) { #broken } else { #expression }));
            }
        }
    }

    fn visit_expr_if_mut(&mut self, expression: &mut syn::ExprIf) {
        visit_mut::visit_expr_if_mut(self, expression);
        if breaks::binds(&expression.cond) {
            self.drop_conditions(&mut expression.cond, expression.if_token.span());
        }
    }

    /// A filter that lets everything through has another type, so its own condition is broken.
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if call.method != "filter" {
            return;
        }
        let span = call.method.span();
        let Some(condition) = call.args.first_mut() else { return };
        let Some(id) = self.number(span, "filter -> no filter".to_owned()) else { return };
        match condition {
            Expr::Closure(closure) => {
                let body = &closure.body;
                *closure.body = parse_quote!((crate::mutants::awake(#id) || #body));
            }
            named => *named = parse_quote!(|it| crate::mutants::awake(#id) || #named(it)),
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        visit_mut::visit_block_mut(self, block);
        for statement in &mut block.stmts {
            let what = match statement {
                Stmt::Expr(Expr::MethodCall(_) | Expr::Call(_), Some(_)) => "call -> nothing",
                Stmt::Expr(Expr::Assign(_), Some(_)) => "assignment -> nothing",
                Stmt::Expr(Expr::Binary(binary), Some(_)) if is_assignment(&binary.op) => {
                    "change -> nothing"
                }
                Stmt::Expr(Expr::Return(back), Some(_)) if back.expr.is_none() => {
                    "return -> nothing"
                }
                Stmt::Expr(Expr::Continue(_), Some(_)) => "continue -> nothing",
                _ => continue,
            };
            if let Some(id) = self.number(statement.span(), what.to_owned()) {
                *statement = parse_quote!(if !crate::mutants::awake(#id) { #statement });
            }
        }
    }

    /// The way out of a `let … else` has to lead out.
    fn visit_local_mut(&mut self, local: &mut Local) {
        if let Some(init) = &mut local.init {
            self.visit_expr_mut(&mut init.expr);
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        if let Some((_, guard)) = &mut arm.guard {
            self.visit_expr_mut(guard);
        }
        self.visit_expr_mut(&mut arm.body);
    }

    /// What is worked out when it is compiled cannot ask which mutant is awake.
    fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
        signature.constness = None;
    }

    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
}

fn is_assignment(operator: &syn::BinOp) -> bool {
    use syn::BinOp::{AddAssign, BitAndAssign, BitOrAssign, MulAssign, SubAssign};
    matches!(
        operator,
        AddAssign(_) | SubAssign(_) | MulAssign(_) | BitOrAssign(_) | BitAndAssign(_)
    )
}

fn is_test(attributes: &[Attribute]) -> bool {
    let test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(test)
}
