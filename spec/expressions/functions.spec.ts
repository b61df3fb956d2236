// The CEL functions of the gateway, each with its results.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileWithNames } from '../../lib/expressions/compile.ts'

function outcome(source: string, x: unknown = null): unknown {
  const result = compileWithNames(source, { x: 'dyn' }).evaluate(new Map([['x', x]]))
  return 'fault' in result ? `fault ${result.fault}` : result.value
}

/** Asserts that each expression is true. */
function assertTrue(...sources: string[]): void {
  for (const source of sources) assert.is(outcome(source), true, source)
}

const functions = suite('cel functions')

functions('json and toJson convert values', () => {
  assertTrue(
    `json('{"a": [1, 2.5, "x", null, true]}').a[0] == 1`,
    `json('9007199254740993') == 9007199254740993`,
    `json(b'{"a": 1}').a == 1`,
    `toJson({"a": [1, 2.5, "x\\n", null, true]}) == '{"a":[1,2.5,"x\\\\n",null,true]}'`,
    `to_json([]) == '[]'`,
    `toJson(b"a") == '"YQ=="'`,
    `toJson(duration("90s")) == '"90s"'`,
    `toJson(timestamp("2024-01-02T03:04:05Z")) == '"2024-01-02T03:04:05.000Z"'`,
    `toJson(18446744073709551615u) == '18446744073709551615'`,
    `json(toJson({"a": {"b": [1]}})) == {"a": {"b": [1]}}`,
  )
  assert.is(outcome(`json('{')`), 'fault conversion')
  assert.is(outcome(`json(b'\\xff')`), 'fault conversion')
  assert.is(outcome('toJson(string)'), 'fault no_such_overload')
})

functions('base64 and url encode and decode', () => {
  assertTrue(
    'base64.encode("hello") == "aGVsbG8="',
    'base64.encode(b"\\xff\\xfe") == "//4="',
    'base64.decode("aGVsbG8=") == b"hello"',
    'base64.decode("aGVsbG8") == b"hello"',
    'base64.decode("__4") == b"\\xff\\xfe"',
    'base64Encode("a") == "YQ==" && base64Decode("YQ==") == b"a"',
    'url.encode("a b/c?d=é&(!)") == "a%20b%2Fc%3Fd%3D%C3%A9%26%28%21%29"',
    'url.decode("a%20b%2Fc%C3%A9+") == "a b/cé+"',
  )
  for (const source of ['base64.decode("a b")', 'base64.decode("ä")', 'url.decode("%zz")'])
    assert.is(outcome(source), 'fault conversion', source)
})

functions('digests are in lower-case hex', () => {
  assertTrue(
    'md5.encode("a") == "0cc175b9c0f1b6a831c399e269772661"',
    'sha1.encode("a") == "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"',
    'sha256.encode(b"a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"',
  )
})

functions('default replaces a missing value, and no other fault', () => {
  const map = new Map([['a', null]])
  assert.is(outcome('default(x.b, "d")', map), 'd')
  assert.is(outcome('default(x.b.c, default(x.c, "e"))', map), 'e')
  assert.is(outcome('default(x.a, "d")', map), null)
  assert.is(outcome('default([1][3], 7)'), 7n)
  assert.is(outcome('default(1 / 0, 7)'), 'fault arithmetic')
  assert.throws(() => compileWithNames('default(y, 1)', {}), /unknown name y/)
})

functions('coalesce returns the first value that is not null', () => {
  const map = new Map<string, unknown>([
    ['n', null],
    ['v', 1n],
  ])
  assert.is(outcome('coalesce(x.b, x.n, 1 / 0, x.v, 2)', map), 1n)
  assert.is(outcome('coalesce(x.b, x.n)', map), null)
  assert.is(outcome('coalesce(x.b, 1 / 0)', map), 'fault arithmetic')
})

functions('string functions work on code points', () => {
  assertTrue(
    '"tacocat".charAt(3) == "o" && "ab".charAt(2) == ""',
    '"hello hello".replace("he", "we") == "wello wello"',
    '"hello hello".replace("he", "we", 1) == "wello hello"',
    '"hello hello".replace("he", "we", -1) == "wello wello"',
    '"hello hello".replace("he", "we", 0) == "hello hello"',
    '"hello hello".replace("he", "$&", 9) == "$&llo $&llo"',
    '"ab".replace("", "-") == "-a-b-" && "ab".replace("", "-", 2) == "-a-b"',
    '"Bearer abc".stripPrefix("Bearer ") == "abc" && "abc".stripPrefix("x") == "abc"',
    '"a.json".stripSuffix(".json") == "a" && "a".stripSuffix("a") == ""',
    '"TacoCÆt".lowerAscii().startsWith("taco") && "a".upperAscii() == "A"',
    '" a ".trim() == "a" && "a,b".split(",") == ["a", "b"] && ["a", "b"].join("-") == "a-b"',
    '"tacocat".substring(4) == "cat" && "tacocat".indexOf("a") == 1',
    '"tacocat".lastIndexOf("a") == 5 && "abc".contains("b") && "abc".matches("^a.c$")',
    'matches("abc", "b") && !matches("abc", "^b")',
    '["a", 1, null].contains(1.0) && ["a"].contains("a") && ![["a"]].contains("a") && [["a"]].contains(["a"])',
  )
  assert.is(outcome('"abc".charAt(4)'), 'fault index_out_of_bounds')
  assert.is(outcome('"abc".charAt(-1)'), 'fault index_out_of_bounds')
  assert.is(outcome('"abc".substring(4)'), 'fault index_out_of_bounds')
})

functions('cidr and isIP check addresses and networks', () => {
  assertTrue(
    'cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP("11.0.0.1")',
    'cidr("2001:db8::/32").containsIP("2001:db8::1") && !cidr("::/64").containsIP("1.2.3.4")',
    'cidr("10.0.0.1/32").containsIP("10.0.0.1") && cidr("0.0.0.0/0").containsIP("8.8.8.8")',
    'cidr("10.0.0.0/8").containsIP("::ffff:10.1.2.3") && !cidr("::/0").containsIP("10.1.2.3")',
    'isIP("::1") && isIP("1.2.3.4") && !isIP("1.2.3") && !isIP("")',
  )
  for (const text of ['10.0.0.0', '10.0.0.0/33', 'a/8', '::/129', '10.0.0.0/-1', ''])
    assert.is(outcome('cidr(x).containsIP("1.2.3.4")', text), 'fault conversion', text)
  assert.is(outcome('cidr("10.0.0.0/8").containsIP(x)', '10.0.0'), 'fault conversion')
})

functions('parts of CEL that the library lacks are available', () => {
  assertTrue(
    'int(7u) == 7',
    'int(timestamp("1970-01-01T00:01:00Z")) == 60',
    'string(timestamp("2024-01-02T03:04:05Z")) == "2024-01-02T03:04:05Z"',
    'string(duration("1h30m")) == "5400s"',
    'timestamp(timestamp(0)) == timestamp(0) && duration(duration("1s")) == duration("1s")',
    'b"a" < b"b" && b"b" > b"a" && b"a" <= b"a" && b"ab" >= b"a" && !(b"b" < b"a")',
  )
})

functions('jsonField reads a field of JSON', () => {
  assertTrue(
    `jsonField('{"a": {"b": 1}}', "a").b == 1`,
    `jsonField(b'{"a": 9007199254740993}', "a") == 9007199254740993`,
    `jsonField('{"a": null}', "a") == null`,
    `default(jsonField('{}', "a"), "d") == "d"`,
  )
  assert.is(outcome(`jsonField('{}', "__proto__")`), 'fault no_such_key')
  assert.is(outcome(`jsonField('[1]', "length")`), 'fault no_such_overload')
  assert.is(outcome(`jsonField('{', "a")`), 'fault conversion')
})

functions('regexReplace replaces with groups', () => {
  assertTrue(
    '"/id/1234/data".regexReplace("/id/[0-9]*/", "/id/{id}/") == "/id/{id}/data"',
    '"a1b22".regexReplace("[0-9]+", "#") == "a#b#"',
    '"key=value".regexReplace("^(\\\\w+)=(\\\\w+)$", "$2=$1 $0 $$1 $9") == "value=key key=value $1 "',
    '"ab".regexReplace("", "-") == "-a-b-"',
    '"😀a".regexReplace("^.", "x") == "xa"',
    '"abc".regexReplace("x", "y") == "abc"',
  )
  assert.is(outcome('x.regexReplace("a", "b")', 7n), 'fault no_such_overload')
  assert.is(outcome('"a".regexReplace("a", x)', null), 'fault no_such_overload')
  for (const source of ['"a".regexReplace(x, "b")', 'x.regexReplace("a" + "b", "c")'])
    assert.throws(() => outcome(source), /pattern of regexReplace\(\) must be a string literal/)
  assertTrue(
    '"aab".regexReplace("(a+)+$", "b") == "aab" && "aa".regexReplace("(a+)+$", "b") == "b"',
  )
  assert.throws(() => outcome('"a".regexReplace("(?=a)", "b")'), /invalid regex: look-around/)
  assert.throws(() => outcome('"a".regexReplace("(", "b")'), /invalid regex: missing closing \)/)
})

functions('query functions read and change the query of a URI', () => {
  assertTrue(
    '"http://h/p?a=1&b=%C3%A9+x&a=2#c=3".query("a") == "1"',
    '"/p?a=1&b=%C3%A9+x".query("b") == "é x" && "/p?a".query("a") == ""',
    'default("/p#?a=1".query("a"), "none") == "none" && default("a=1".query("a"), "none") == "none"',
    '"/p".addQuery("a b", "&=é") == "/p?a+b=%26%3D%C3%A9"',
    '"/p?x=%7e#f".addQuery("x", "") == "/p?x=%7e&x=#f"',
    '"/p?a=1&x=%7e&%61=2#f".setQuery("a", "3") == "/p?x=%7e&a=3#f"',
    '"".setQuery("a", "1") == "?a=1"',
  )
  assert.is(outcome('"/p".query("a")'), 'fault no_such_key')
  assert.is(outcome('x.query("a")', 7n), 'fault no_such_overload')
})

functions('merge prefers the second map', () => {
  assertTrue(
    '{"a": 2, "k": "v"}.merge({"a": 3}) == {"a": 3, "k": "v"}',
    '{}.merge({}) == {} && {"a": 1}.merge({"b": {"c": 1}}).b.c == 1',
  )
  const claims = new Map<string, unknown>([['__proto__', 'p']])
  assert.equal(
    outcome('x.merge({"a": 1})', claims),
    new Map<string, unknown>([...claims, ['a', 1n]]),
  )
  assert.is(outcome('x.merge({})', 7n), 'fault no_such_overload')
})

functions('max and min compare numbers of all types', () => {
  assertTrue(
    'max(1, 2) == 2 && min(1, 2) == 1 && max(1, 2.5, 2u) == 2.5 && min(3, 2, 1, 0) == 0',
    'max([1, 3, 2]) == 3 && min([2, 1.5]) == 1.5 && max([7]) == 7',
    'max(9007199254740993, 9007199254740992) == 9007199254740993',
    'max(-1, 0) == 0 && min(-1.5, -1) == -1.5',
  )
  assert.is(outcome('max([])'), 'fault index_out_of_bounds')
  for (const source of ['max("a", 1)', 'min([1, "a"])', 'max(null, 1)', 'max([[1]])'])
    assert.is(outcome(source), 'fault no_such_overload', source)
})

functions('random and uuid return a new value each time', () => {
  assertTrue(
    'uuid().matches("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")',
    'uuid() != uuid() && random() >= 0.0 && random() < 1.0 && random() != random()',
  )
})

functions('fail always fails', () => {
  assert.is(outcome('fail()'), 'fault failed')
  assert.is(outcome('fail("says " + "why")'), 'fault failed')
  assertTrue('true || fail()', '!(false && fail("never"))')
})

functions('namespace names can be loop variables', () => {
  assertTrue('["a"].all(url, url == "a") && ["a"].exists(base64, base64 == "a")')
})

functions.run()
