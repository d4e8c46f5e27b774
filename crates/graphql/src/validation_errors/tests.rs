use apollo_compiler::Schema;
use apollo_compiler::ast::Document as Ast;

use super::*;

const SDL: &str = "
    interface Thing { name(long: Boolean): String }
    enum Color { RED }
    input Point { x: Int! }
    type Query implements Thing { name(long: Boolean): String me: Query color: Color f(point: Point!, n: Int): Int u: U }
    type Other { name: Int }
    union U = Query | Other
";

/// The kinds and messages of all errors in a text.
fn validation_messages(text: &str) -> Vec<String> {
    let schema = Schema::parse_and_validate(SDL, "sdl").unwrap();
    let ast = Ast::parse(text, "q").unwrap();
    let errors = ast.to_executable_validate(&schema).unwrap_err().errors;
    let position = |_| Position { line: 1, column: 1 };
    validation(&ast, &errors, &position)
        .into_iter()
        .map(|error| {
            assert_eq!(error.classification, Classification::ValidationError);
            error
                .message
                .strip_prefix("Validation error (")
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn every_error_has_its_kind_path_and_names() {
    for (text, expected) in [
        (
            "{ foo }",
            "FieldUndefined@[foo]) : Field 'foo' in type 'Query' is undefined",
        ),
        (
            "{ me { ...F } } fragment F on Query { foo }",
            "FieldUndefined@[F/foo]) : Field 'foo' in type 'Query' is undefined",
        ),
        (
            "{ me { name(x: 1) } }",
            "UnknownArgument@[me/name]) : Unknown field argument 'x'",
        ),
        (
            "{ me { f } }",
            "MissingFieldArgument@[me/f]) : Missing field argument 'point'",
        ),
        (
            "{ name @include }",
            "MissingDirectiveArgument@[name]) : Missing directive argument 'if'",
        ),
        (
            "{ name(long: 1) }",
            "WrongType@[name]) : Expected value of type Boolean, found an integer",
        ),
        (
            "{ f(point: {x: 1, y: 2}) }",
            "WrongType@[f]) : Field 'y' does not exist on 'Point'",
        ),
        (
            "{ f(point: {}) }",
            "WrongType@[f]) : The required field 'Point.x' is not provided",
        ),
        (
            "{ me }",
            "SubselectionRequired@[me]) : Subselection required for field 'me'",
        ),
        (
            "{ name { x } }",
            "SubselectionNotAllowed@[name]) : Subselection not allowed on leaf type 'String' of field 'name'",
        ),
        (
            "{ color { x } }",
            "SubselectionNotAllowed@[color]) : Subselection not allowed on leaf type 'Color' of field 'color'",
        ),
        (
            "{ ... on Nothing { name } }",
            "UnknownType) : Unknown type 'Nothing'",
        ),
        (
            "query($v: Nothing) { name(long: $v) }",
            "UnknownType) : Unknown type 'Nothing'",
        ),
        (
            "{ name @nothing }",
            "UnknownDirective@[name]) : Unknown directive 'nothing'",
        ),
        ("query @skip(if: true) { name }", "MisplacedDirective) : "),
        (
            "{ name(long: $v) }",
            "UndefinedVariable@[name]) : Undefined variable 'v'",
        ),
        (
            "query($v: Boolean) { name }",
            "UnusedVariable) : Unused variable 'v'",
        ),
        (
            "query($v: Int, $v: Int) { f(point: {x: 1}, n: $v) }",
            "DuplicateVariableName) : There can be only one variable named 'v'",
        ),
        (
            "query($v: Query) { name(long: $v) }",
            "NonInputTypeOnVariable) : ",
        ),
        (
            "query($v: [Boolean]) { name(long: $v) }",
            "VariableTypeMismatch@[name]) : ",
        ),
        (
            "{ name(long: true, long: true) }",
            "DuplicateArgumentNames@[name]) : There can be only one argument named 'long'",
        ),
        (
            "{ name } fragment F on Query { name }",
            "UnusedFragment@[F]) : Unused fragment 'F'",
        ),
        ("{ ...F }", "UndefinedFragment) : Undefined fragment 'F'"),
        (
            "{ ...F } fragment F on Query { me { ...F } }",
            "FragmentCycle@[F",
        ),
        (
            "{ ...F } fragment F on Color { x }",
            "FragmentTypeConditionInvalid",
        ),
        ("{ ... on Other { name } }", "InvalidFragmentType) : "),
        (
            "{ name } query A { name }",
            "LoneAnonymousOperationViolation) : ",
        ),
        (
            "query A { name } query A { name }",
            "DuplicateOperationName) : There can be only one operation named 'A'",
        ),
        (
            "{ ...F } fragment F on Query { name } fragment F on Query { name }",
            "DuplicateFragmentName@[F",
        ),
        (
            "mutation { name }",
            "UnknownOperation) : The schema does not support the operation 'mutation'",
        ),
        ("{ name } type X { x: Int }", "NonExecutableDefinition"),
        ("{ name name: color }", "FieldsConflict@[color]) : "),
    ] {
        let messages = validation_messages(text);
        assert!(
            messages.iter().any(|message| message.starts_with(expected)),
            "{text}: {messages:#?}"
        );
        assert!(
            messages
                .iter()
                .all(|message| !message.starts_with("InvalidDocument")),
            "{text}: {messages:#?}"
        );
    }
}

#[test]
fn consequences_of_an_unknown_field_are_not_reported() {
    assert_eq!(
        validation_messages(
            "query($v: Int) { me { foo(x: $v) { ...F } } } fragment F on Query { name }"
        ),
        ["FieldUndefined@[me/foo]) : Field 'foo' in type 'Query' is undefined"]
    );
}

#[test]
fn a_variable_used_only_by_another_operation_is_unused() {
    assert_eq!(
        validation_messages(
            "query A($v: Boolean) { name } query B($v: Boolean) { name(long: $v) }"
        ),
        ["UnusedVariable) : Unused variable 'v'"]
    );
}

#[test]
fn a_rejection_has_a_hundred_errors_and_says_how_many_are_left_out() {
    for (count, listed, last) in [
        (100, 100, "FieldUndefined@[f99]"),
        (250, 100, "Validation error : 151 more errors are left out"),
    ] {
        let fields: String = (0..count)
            .flat_map(|number| ["f".to_owned(), number.to_string(), " ".to_owned()])
            .collect();
        let schema = Schema::parse_and_validate(SDL, "sdl").unwrap();
        let ast = Ast::parse(format!("{{ {fields} }}"), "q").unwrap();
        let errors = ast.to_executable_validate(&schema).unwrap_err().errors;
        let reported = validation(&ast, &errors, &|_| Position { line: 1, column: 1 });
        assert_eq!(reported.len(), listed);
        let message = &reported.last().unwrap().message;
        assert!(message.contains(last), "{message}");
    }
}
