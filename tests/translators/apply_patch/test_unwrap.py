"""The incremental reader: whatever the cut, the same text, the same error, at the same character."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translators.apply_patch.unwrap import InputReader, UnwrapError, judge

WRONG_KEY = "a key other than `input` is in the object"
NO_OBJECT = "the arguments are not a JSON object"
NO_KEY = "the object does not begin with the key `input`"
NO_COLON = "no colon follows the key `input`"
NO_STRING = "`input` is not a string"
NOT_LAST = "the object does not end after the string `input`"
TRAILING = "something follows the end of the object"
CUT = "the arguments end before the object is complete"
CONTROL = "a control character stands in the string without an escape"
SURROGATE = "half a surrogate pair stands in the string"
ESCAPE = "an escape sequence that JSON does not know"
CONTRADICTION = "the complete arguments contradict what was streamed"
LATE = "argument text arrived after the end of the arguments"

GOOD = [
    ('{"input":"hello"}', "hello"),
    ('{"input":""}', ""),
    (' \t\r\n{ \t\r\n"input" \t\r\n: \t\r\n"x" \t\r\n} \t\r\n', "x"),
    (r'{"\u0069n\u0070ut":"x"}', "x"),
    (r'{"input":"a\nb\tc\rd\be\ff\/g\"h\\i"}', 'a\nb\tc\rd\be\ff/g"h\\i'),
    (r'{"input":"\\n\\\\"}', "\\n\\\\"),
    (r'{"input":"\u00e9\u4F60\uFFFD"}', "é你�"),
    (r'{"input":"\ud83d\ude00\uD83D\uDE01"}', "😀😁"),
    (r'{"input":"\u0000\u001f"}', "\x00\x1f"),
    ('{"input":"é日😀\u2028\x7f�"}', "é日😀\u2028\x7f�"),
    (r'{"input":"{\"input\":\"raw\"}"}', '{"input":"raw"}'),
    ('{"input":"}"}', "}"),
    (r'{"input":"\ud7ff\ue000"}', "\ud7ff\ue000"),
]

BAD = [
    # document, reason, characters before the offending one (None: the end)
    ("", CUT, None),
    ("  ", CUT, None),
    ("{", CUT, None),
    ('{"input":"abc', CUT, None),
    ('{"input":"abc"', CUT, None),
    ('{"input":"abc\\', CUT, None),
    ('{"input":"abc\\u12', CUT, None),
    (r'{"input":"\ud83d', CUT, None),
    ("null", NO_OBJECT, 0),
    (' [{"input":"x"}]', NO_OBJECT, 1),
    ('"{}"', NO_OBJECT, 0),
    ("*** Begin Patch", NO_OBJECT, 0),
    ('\x0b{"input":"x"}', NO_OBJECT, 0),
    ('\ufeff{"input":"x"}', NO_OBJECT, 0),
    ("{}", NO_KEY, 1),
    ("{input:1}", NO_KEY, 1),
    ('{"patch":"x"}', WRONG_KEY, 2),
    ('{"inp":"x"}', WRONG_KEY, 5),
    ('{"inputs":"x"}', WRONG_KEY, 7),
    ('{"Input":"x"}', WRONG_KEY, 2),
    (r'{"in\u0071ut":"x"}', WRONG_KEY, 9),
    (r'{"in\nput":"x"}', WRONG_KEY, 5),
    ('{"in\nput":"x"}', CONTROL, 4),
    ('{"input" "x"}', NO_COLON, 9),
    ('{"input":7}', NO_STRING, 9),
    ('{"input":null}', NO_STRING, 9),
    ('{"input":{"patch":"x"}}', NO_STRING, 9),
    ('{"input":["x"]}', NO_STRING, 9),
    ('{"input":"x",}', NOT_LAST, 12),
    ('{"input":"x","input":"x"}', NOT_LAST, 12),
    ('{"input":"x","why":[1]}', NOT_LAST, 12),
    ('{"input":"x"]', NOT_LAST, 12),
    ('{"input":"x"}}', TRAILING, 13),
    ('{"input":"x"} {"input":"x"}', TRAILING, 14),
    ('{"input":"x"}\x0b', TRAILING, 13),
    ('{"input":"a\nb"}', CONTROL, 11),
    ('{"input":"a\x00b"}', CONTROL, 11),
    (r'{"input":"a\x41"}', ESCAPE, 12),
    (r'{"input":"a\'b"}', ESCAPE, 12),
    (r'{"input":"a\U0041"}', ESCAPE, 12),
    (r'{"input":"a\u00g1"}', ESCAPE, 15),
    ('{"input":"a\\u00٣1"}', ESCAPE, 15),
    (r'{"input":"a\u12"}', ESCAPE, 15),
    (r'{"input":"\ude00"}', SURROGATE, 13),
    (r'{"input":"\uDC00"}', SURROGATE, 13),
    (r'{"input":"\ud83d"}', SURROGATE, 16),
    (r'{"input":"\ud83dx"}', SURROGATE, 16),
    (r'{"input":"\ud83d\n"}', SURROGATE, 17),
    (r'{"input":"\ud83d\u0041"}', SURROGATE, 18),
    (r'{"input":"\ud83d\ud83d"}', SURROGATE, 19),
    ('{"input":"a\ud83d\ude00"}', SURROGATE, 11),
]


def outcome(fragments: list[str], full: str | None = None) -> tuple[str, str, int]:
    """("ok", text, 0) or ("bad", reason, position); checks on the way what must hold after every call."""
    reader = InputReader()
    emitted: list[str] = []
    try:
        for fragment in fragments:
            emitted.append(reader.feed(fragment))
            assert reader.text() == "".join(emitted)
            emitted[-1].encode("utf-8")
        emitted.append(reader.finish(full))
    except UnwrapError as error:
        assert reader.failed
        assert reader.error is not None
        assert not reader.in_plain_string
        assert reader.text() == "".join(emitted)
        return "bad", error.reason, error.position
    assert not reader.failed
    assert reader.text() == "".join(emitted)
    return "ok", reader.text(), 0


def splits(text: str) -> list[list[str]]:
    cuts = [[text[:i], text[i:]] for i in range(len(text) + 1)]
    return [[text], list(text), *cuts, ["", *itertools.chain.from_iterable((c, "") for c in text)]]


@pytest.mark.parametrize(("document", "text"), GOOD)
def test_a_good_document_gives_its_text_however_it_is_split(document: str, text: str) -> None:
    assert [outcome(split) for split in splits(document)] == [("ok", text, 0)] * len(splits(document))
    assert judge(document) == text == json.loads(document)["input"]


@pytest.mark.parametrize(("document", "reason", "position"), BAD)
def test_a_bad_document_fails_at_the_same_character_however_it_is_split(
    document: str, reason: str, position: int | None
) -> None:
    expected = ("bad", reason, len(document) if position is None else position)
    assert [outcome(split) for split in splits(document)] == [expected] * len(splits(document))
    with pytest.raises(UnwrapError) as caught:
        judge(document)
    assert (caught.value.reason, caught.value.position) == expected[1:]


def test_the_offending_character_fails_before_the_end_of_the_arguments_is_known() -> None:
    reader = InputReader()
    reader.feed('{"input":"good')
    with pytest.raises(UnwrapError, match="JSON does not know"):
        reader.feed(" more \\x")
    assert reader.text() == "good"


def test_the_first_error_is_raised_for_ever() -> None:
    reader = InputReader()
    calls = (lambda: reader.feed("[SECRET"), lambda: reader.feed('{"input":"x"}'), lambda: reader.feed(""))
    errors = []
    for call in (*calls, reader.finish, lambda: reader.finish('{"input":"x"}')):
        with pytest.raises(UnwrapError) as caught:
            call()
        errors.append(caught.value)
    assert all(error is reader.error for error in errors)
    assert isinstance(reader.error, ValueError)
    assert "SECRET" not in str(reader.error)


@pytest.mark.parametrize(
    ("fragments", "plain"),
    [
        ([], False),
        (['{"input":'], False),
        (['{"input":"'], True),
        (['{"input":"', "abc"], True),
        (['{"input":"', "abc", "\\"], False),
        (['{"input":"', "abc", "\\", "n"], True),
        (['{"input":"', "\\u00"], False),
        (['{"input":"', "\\ud83d"], False),
        (['{"input":"', "\\ud83d", "\\ude00"], True),
        (['{"input":"x"'], False),
        (['{"input":"x"}'], False),
    ],
)
def test_it_says_whether_it_stands_in_plain_text(fragments: list[str], plain: bool) -> None:
    reader = InputReader()
    for fragment in fragments:
        reader.feed(fragment)
    assert reader.in_plain_string is plain


FINISHES = [
    # streamed, full, expected tail or reason
    ("", '{"input":"abc"}', "abc"),
    ('{"inp', '{"input":"abc"}', "abc"),
    ('{"input":"ab', '{"input":"abc"}', "c"),
    ('{"input":"ab\\', r'{"input":"ab\nc"}', "\nc"),
    ('{"input":"ab\\ud83d', r'{"input":"ab\ud83d\ude00"}', "😀"),
    ('{"input":"abc"', '{ "input" : "abc" }', ""),
    ('{"input":"abc"}', r'{"input":"\u0061bc"}', ""),
    ('{"input":"abc"}', None, ""),
    ('{"input":"abc"', '{"input":"abcd"}', CONTRADICTION),
    ('{"input":"abc"}', '{"input":"ab"}', CONTRADICTION),
    ('{"input":"abX', '{"input":"abc"}', CONTRADICTION),
    ('{"input":"abcd', '{"input":"abc"}', CONTRADICTION),
    ('{"input":"ab', '{"input":"abc"', CUT),
    ('{"input":"ab', "", CUT),
    ('{"input":"ab', '{"patch":"abc"}', WRONG_KEY),
    ('{"input":"ab', None, CUT),
]


@pytest.mark.parametrize(("streamed", "full", "expected"), FINISHES)
def test_the_complete_arguments_may_extend_what_was_streamed_and_never_contradict_it(
    streamed: str, full: str | None, expected: str
) -> None:
    reader = InputReader()
    before = reader.feed(streamed)
    try:
        tail = reader.finish(full)
    except UnwrapError as error:
        assert error.reason == expected
        assert reader.text() == before
    else:
        assert tail == expected
        assert reader.text() == before + tail


def test_finishing_again_with_an_equivalent_document_adds_nothing() -> None:
    reader = InputReader()
    reader.feed('{"input":"a')
    assert [reader.finish(f) for f in ('{"input":"ab"}', r'{ "input":"\u0061b"}', None)] == ["b", "", ""]
    assert reader.feed("") == ""
    with pytest.raises(UnwrapError, match=CONTRADICTION):
        reader.finish('{"input":"abc"}')


def test_text_after_the_end_of_the_arguments_is_an_error() -> None:
    reader = InputReader()
    reader.feed('{"input":"a"}')
    reader.finish()
    with pytest.raises(UnwrapError, match=LATE):
        reader.feed(" ")


PIECES = st.sampled_from(
    [
        *'{}":,\\ \n\x01aé😀u7',
        *("input", '{"input":"', '"}', "\ud83d"),
        *("\\n", '\\"', "\\u00e9", "\\u0000", "\\ud83d", "\\ude00", "d83d"),
    ]
)


@st.composite
def split_documents(draw: st.DrawFn) -> list[str]:
    """Fragments of documents that are good, nearly good or rubbish."""
    pieces = "".join(draw(st.lists(PIECES, max_size=25)))
    document = draw(
        st.sampled_from([pieces, f'{{"input":"{pieces}', f'{{"input":"{pieces}"}}'])
        | st.text().map(lambda text: json.dumps({"input": text}, ensure_ascii=False))
        | st.text().map(lambda text: json.dumps({"input": text}))
    )
    cuts = sorted(draw(st.lists(st.integers(0, len(document)), max_size=6)))
    return [document[a:b] for a, b in itertools.pairwise([0, *cuts, len(document)])]


@given(split_documents())
@settings(max_examples=400, deadline=None)
def test_no_split_changes_the_outcome(fragments: list[str]) -> None:
    document = "".join(fragments)
    whole = outcome([document])
    assert outcome(fragments) == whole
    assert outcome(list(document)) == whole
    if whole[0] == "ok":
        assert judge(document) == whole[1]
    else:
        with pytest.raises(UnwrapError) as caught:
            judge(document)
        assert (caught.value.reason, caught.value.position) == whole[1:]


@given(st.text(), st.booleans(), st.integers(0, 60))
@settings(deadline=None)
def test_the_reader_agrees_with_a_json_parser(text: str, ascii_only: bool, cut: int) -> None:
    document = json.dumps({"input": text}, ensure_ascii=ascii_only)
    assert outcome([document[:cut]], document) == ("ok", text, 0)
