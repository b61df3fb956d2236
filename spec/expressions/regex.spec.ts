// Patterns of operators: what RE2 accepts, what it refuses, and that no text makes a pattern slow.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_REGEX_SIZE,
  MAX_REGEX_SOURCE,
  MAX_REGEX_SUBJECT,
  Regex,
  RegexError,
} from '../../lib/expressions/regex.ts'
import { fc } from '../support/fast-check.ts'

/** Patterns that take exponential time in a backtracking engine, each with a text to repeat. */
const EXPONENTIAL: readonly (readonly [source: string, pump: string])[] = [
  ['(a+)+$', 'a'],
  ['^(a+)+$', 'a'],
  ['^(a*)*$', 'a'],
  ['(a|a)*$', 'a'],
  ['(a|a)*b', 'a'],
  ['(a|aa)+$', 'a'],
  ['^(a|b|ab)*c$', 'ab'],
  ['^(a?b?)*$', 'ab'],
  ['^(\\w+\\s?)+$', 'a'],
  ['(.*)*x', 'a'],
  ['(x+x+)+y', 'x'],
  ['(\\d+)*$', '1'],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'],
  ['^(?:(?:a|b)*c?)*$', 'a'],
  ['^((?:|)x)*$', 'x'],
  ['^a((a|a)*c)?', 'a'],
  ['^(a{0,5}){0,90}$', 'a'],
  ['^(a|a){64}', 'a'],
  ['([a-z]+-?)*:$', 'a'],
  ['^(?:(?:a|a)*b)*', 'a'],
]

/** Patterns that take polynomial time in a backtracking engine. */
const POLYNOMIAL: readonly (readonly [source: string, pump: string])[] = [
  ['^(?:a?){30}a{30}$', 'a'],
  ['^a?a?a?a?a?a?a?a?a?a?a?aaaa$', 'a'],
  ['a.*b.*c', 'ab'],
  ['^a.*b.*c.*d$', 'abc'],
  ['\\w*\\w*\\w*x', 'a'],
  ['^\\s*\\s*\\s*$', ' '],
  ['[a-z]{2}'.repeat(100), 'a'],
]

/** Patterns whose cache of states grows. */
const MANY_STATES: readonly (readonly [source: string, pump: string])[] = [
  ['(?:a|b)*a(?:a|b){200}c', 'aabab'],
  ['.*a.{900}b.*', 'a1a11'],
  ['(a{0,30}){0,30}', 'a'],
]

const REFUSED: readonly (readonly [source: string, reason: RegExp])[] = [
  ['(a)\\1', /^a back-reference such as \\1 is not in RE2 syntax; write out/],
  ['(?<x>a)\\k<x>', /^a back-reference such as/],
  ['(?=a)a', /^look-around such as \(\?=…\) is not in RE2 syntax; match the text itself/],
  ['a(?!b)', /^look-around/],
  ['(?<=a)b', /^look-around/],
  ['(?<!a)b', /^look-around/],
  ['\\u0041', /^\\u and \\c are not in RE2 syntax; write \\x\{…\}/],
  ['\\cA', /^\\u and \\c/],
  ['[^]*', /^\[\] and \[\^\] are not in RE2 syntax/],
  ['\\p{Script=Greek}', /^unknown character class; RE2 has \\p\{Greek\}/],
  ['a{1001}', /^a repeat count, or the product of nested ones, is over 1000$/],
  ['((a{0,100}){0,100}){0,100}', /^a repeat count/],
  ['(?:a{0,999}){0,2}', /^a repeat count/],
  ['[', /^missing closing ]$/],
  ['(', /^missing closing \)$/],
  ['a)|(b', /^unexpected \)$/],
  ['a**', /^invalid nested repetition operator$/],
  ['\\Z', /^invalid escape sequence$/],
  ['(?:ab){999}(?:ab){999}', /^too large, it compiles to more than 2048 instructions; use smaller/],
  ['a'.repeat(MAX_REGEX_SOURCE + 1), /^more than 2048 characters$/],
]

const ACCEPTED = [
  '',
  'foo',
  '^foo$',
  'a|b',
  'foo.*bar',
  '.*foo.*',
  '^foo.*bar.*baz$',
  '^/api/.*',
  '^/api/[^/]+/users/[^/]+$',
  '^(?:/[^/]+)+/?$',
  '^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$',
  '^(\\w+\\.)*\\w+$',
  '^(?:[a-z]+,)*[a-z]+$',
  '^(foo|bar|baz)$',
  '^(foo|fob)+$',
  '^(admin|administrator|adm)@(corp|corporation)\\.com$',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}',
  '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  '^https?://(www\\.)?[\\w.-]+(:\\d+)?(/.*)?$',
  '^\\d{1,3}(\\.\\d{1,3}){3}$',
  '^[a-z]{2,5}[a-z0-9]{6,10}$',
  '^Bearer [\\w-]+\\.[\\w-]+\\.[\\w-]*$',
  'gpt-4.*|claude-.*',
  '^(?:(?:id|if|in|is|it)=[a-z]*;)*$',
  '\\bfoo\\b',
  '^(?<name>a+)$',
  '^\\p{L}+$',
  '^[\\]\\\\^-]+$',
  '\\x{1F600}|\\x41|\\t|\\0',
  '(?i)json|\\z',
  '(a+)+',
  '(a*)*',
  '.{1,1000}',
]

function refusal(source: string): string {
  try {
    return `accepted ${new Regex(source, 'part').size}`
  } catch (error) {
    if (error instanceof RegexError) return error.message
    throw error
  }
}

/** Milliseconds of CPU time for one step, ten times the measured value, and for the start of the engine. */
const MS_PER_STEP = 0.000_1
const MS_TO_START = 500

/** CPU time, so that other programs on the machine do not count. */
function assertLinear(regex: Regex, text: string): void {
  const before = process.cpuUsage()
  regex.test(text)
  const { user, system } = process.cpuUsage(before)
  const spent = (user + system) / 1000
  const limit = MS_TO_START + text.length * regex.size * MS_PER_STEP
  assert.ok(spent < limit, `${regex.mode} ${regex.source}: ${spent} ms of ${limit}`)
}

const regexes = suite('regex')

regexes('accepts common patterns', () => {
  for (const source of ACCEPTED) assert.match(refusal(source), /^accepted/, source)
})

regexes('refuses what is not RE2 syntax, and says what to write', () => {
  for (const [source, reason] of REFUSED) assert.match(refusal(source), reason, source)
})

regexes('does not quote the pattern in a refusal', () => {
  for (const source of [
    's3cr3t(',
    '(?<s3cr3t',
    '(?P<s3cr3t>a)(?P<s3cr3t>b)',
    's3cr3t)|(b',
    '[s3cr3t',
  ])
    assert.not(refusal(source).includes('s3cr3t'), source)
})

regexes('bounds the number of instructions', () => {
  for (const source of ACCEPTED) assert.ok(new Regex(source, 'whole').size <= MAX_REGEX_SIZE)
  const nested = `${'(?:'.repeat(400)}a${')*'.repeat(400)}`
  assert.match(refusal(nested), /^accepted/)
  assert.match(refusal(`${'('.repeat(1020)}a${')'.repeat(1020)}`), /too large|nests too deeply/)
})

regexes('matches the whole text, line ends included, or any part of it', () => {
  const whole = new Regex('/a|/b.c', 'whole')
  for (const text of ['/a', '/bxc', '/b\nc', '/b😀c']) assert.is(whole.test(text), true, text)
  for (const text of ['/a/b', '/a\n', 'x/a', '/b', '']) assert.is(whole.test(text), false, text)
  const part = new Regex('/a|/b.c', 'part')
  for (const text of ['/a', 'x/a/b', '/bxc\n']) assert.is(part.test(text), true, text)
  for (const text of ['/b\nc', 'a', '']) assert.is(part.test(text), false, text)
  assert.is(new Regex('a$', 'part').test('a\n'), false)
  assert.is(new Regex('^b', 'part').test('a\nb'), false)
})

regexes('is equal if source and mode are equal', () => {
  const used = new Regex('a+', 'whole')
  used.test('aaa')
  assert.equal(used, new Regex('a+', 'whole'))
  assert.not.equal(used, new Regex('a*', 'whole'))
  assert.not.equal(used, new Regex('a+', 'part'))
})

regexes('takes linear CPU time where backtracking does not', () => {
  for (const [source, pump] of [...EXPONENTIAL, ...POLYNOMIAL])
    for (const mode of ['whole', 'part'] as const)
      assertLinear(new Regex(source, mode), `${pump.repeat(100_000 / pump.length)}!`)
})

regexes('takes linear CPU time where a text leads to new states again and again', () => {
  for (const [source, pump] of MANY_STATES) {
    const regex = new Regex(source, 'whole')
    let seed = 7
    const next = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
      return pump[(seed >> 16) % pump.length]
    }
    for (const length of [MAX_REGEX_SUBJECT, 8 * MAX_REGEX_SUBJECT])
      assertLinear(regex, `${Array.from({ length }, next).join('')}!`)
  }
})

regexes('replaces as JavaScript does', () => {
  for (const [source, text] of [
    ['a*', 'baac'],
    ['', 'a😀b'],
    ['a|', 'baac'],
    ['(a)|(b)(x)?', 'abxc'],
    ['\\b', 'ab cd'],
    ['(?<name>[0-9]+)-', '1-22-x'],
  ] as const) {
    const put = (groups: readonly unknown[], offset: number) => `<${groups.join()}@${offset}>`
    const native = text.replace(new RegExp(source, 'gu'), (...match: unknown[]) => {
      const offset = match.findIndex((one) => typeof one === 'number')
      return put(match.slice(0, offset), match[offset] as number)
    })
    assert.is(new Regex(source, 'part').replaceAll(text, put), native, source)
  }
})

const atom = fc.constantFrom('a', 'b', '[ab]', '.', 'c', '[^a]', 'ab', 'ba', '\\b', 'é')
const times = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,3}', '{2,}', '*?', '+?')

const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.tuple(atom, times).map(([one, count]) => (one.length === 2 ? one : one + count)),
    fc.tuple(tie('pattern'), times).map(([inner, count]) => `(?:${inner})${count}`),
  ),
  pattern: fc
    .array(fc.array(tie('part'), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 })
    .map((choices) => choices.map((parts) => parts.join('')).join('|')),
}))

const anchored = fc
  .tuple(fc.constantFrom('', '^'), pattern, fc.constantFrom('', '$'))
  .map(([start, inner, end]) => (start + end === '' ? inner : `${start}(?:${inner})${end}`))

const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'é', '\n', '😀'), { maxLength: 6 })

regexes('matches what JavaScript matches, for random patterns', () => {
  const property = fc.property(anchored, fc.array(texts, { maxLength: 8 }), (source, all) => {
    const whole = new Regex(source, 'whole')
    const part = new Regex(source, 'part')
    for (const text of all.map((letters) => letters.join(''))) {
      const shown = `${source} on ${JSON.stringify(text)}`
      assert.is(whole.test(text), new RegExp(`^(?:${source})$`, 'su').test(text), shown)
      assert.is(part.test(text), new RegExp(source, 'u').test(text), shown)
    }
  })
  fc.assert(property, { numRuns: 400, seed: 7 })
})

regexes.run()
