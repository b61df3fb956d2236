// Which regexes may see foreign text. What the judge accepts is run by a matcher that counts its steps.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { unsafeReason } from '../../../lib/base/regex/safety.ts'
import { countSteps } from '../../support/count-steps.ts'
import { fc } from '../../support/fast-check.ts'

const WAYS = 'repeats something that can match the same text in several ways'
const SHARED = 'has several open repeats that can share a text; anchor it with ^'
const CHOICES = 'has too many choices that can match the same text'

/** With a text to repeat that makes the engine work. */
const EXPONENTIAL: readonly (readonly [source: string, pump: string])[] = [
  ['(a+)+$', 'a'],
  ['^(a+)+$', 'a'],
  ['^(a*)*$', 'a'],
  ['(a|a)*$', 'a'],
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
  // It could match nothing at all, but tries the rest first.
  ['^(?:(?:a|a)*b)*', 'a'],
]

const KNOWN_BAD: readonly (readonly [source: string, reason: string])[] = [
  ...EXPONENTIAL.map(([source]) => [source, WAYS] as const),
  ['^(?:a?){30}a{30}$', 'repeats something that can be empty'],
  ['^a?a?a?a?a?a?a?a?a?a?a?aaaa$', CHOICES],
  ['a.*b.*c', SHARED],
  ['^a.*b.*c.*d$', SHARED],
  ['\\w*\\w*\\w*x', SHARED],
  ['^\\s*\\s*\\s*$', SHARED],
  ['(a)\\1', 'refers back to a group'],
  ['(?<x>a)\\k<x>', 'refers back to a group'],
  ['(?=a)a', 'looks ahead or behind'],
  ['(?<!a)b', 'looks ahead or behind'],
  ['[', 'is not a valid regular expression'],
  ['(?i)a', 'is not a valid regular expression'],
  ['\\z', 'is not a valid regular expression'],
  ['[a-z]{2}'.repeat(300), 'is too large to judge'],
]

const KNOWN_GOOD = [
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
  '[^]*',
  '^[\\]\\\\^-]+$',
  '\\u{1F600}|\\u0041|\\x41|\\cA|\\t|\\0',
  // What matches as soon as it can never looks for another way.
  '(a+)+',
  '(a*)*',
]

const judging = suite('regex safety')

judging('refuses what is known to run for ever, and says why', () => {
  for (const [source, reason] of KNOWN_BAD) assert.is(unsafeReason(source), reason, source)
})

judging('refuses nothing that would not: the counted steps explode', () => {
  for (const [source, pump] of EXPONENTIAL) {
    const { steps } = countSteps(source, `${pump.repeat(40)}!`, 200_000)
    assert.is(steps, 200_000, source)
  }
})

judging('accepts what people write', () => {
  for (const source of KNOWN_GOOD) assert.is(unsafeReason(source), null, source)
})

judging('ends early whatever it is given', () => {
  const words = Array.from({ length: 120 }, (_, i) => `w${i.toString(36)}`).join('|')
  assert.is(unsafeReason(`^(${words})$`), null)
  for (const source of [
    `^(${words})*$`,
    `(?:${'(?:'.repeat(3000)}a${')'.repeat(3000)})`,
    `${'(a|'.repeat(300)}b${')*'.repeat(300)}`,
    '[a-z]*'.repeat(200),
    '(?:a{1,9}){1,9}'.repeat(20),
  ])
    assert.not.throws(() => unsafeReason(source))
})

const atom = fc.constantFrom('a', 'b', '[ab]', '.', 'c', '[^a]', 'ab', 'ba')
const times = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,3}', '{6}', '{5,}')

const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
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

const PUMPS = ['a', 'b', 'ab', 'ba', 'aab', 'abb', 'c', 'ac']
const LIMIT = 4_000_000

judging('accepts only what takes at most the square of a text', () => {
  let accepted = 0
  const property = fc.property(anchored, (source) => {
    if (unsafeReason(source) !== null) return
    accepted++
    for (const pump of PUMPS)
      for (const tail of ['', 'c', 'b!']) {
        const short = `${pump.repeat(96).slice(0, 48)}${tail}`
        const long = `${pump.repeat(96).slice(0, 96)}${tail}`
        const once = countSteps(source, short, LIMIT)
        const twice = countSteps(source, long, LIMIT)
        assert.is(once.matched, new RegExp(source, 'u').test(short), `${source} ${short}`)
        // Twice the text: four times the steps, with room for short starts; a cube would be eight.
        assert.ok(twice.steps < LIMIT && twice.steps <= once.steps * 6 + 5000, `${source} ${long}`)
      }
  })
  fc.assert(property, { numRuns: 150, seed: 7 })
  assert.ok(accepted > 30, String(accepted))
})

judging.run()
