// Random bodies, splits and edits, compared with edits of the whole text by the JSON scanner.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ByteBudget } from '../../../../lib/core/byte-budgets.ts'
import { applyEdits } from '../../../../lib/text/json-edit.ts'
import type { JsonEdit } from '../../../../lib/text/json-edit.ts'
import { listMembers, findJsonValue } from '../../../../lib/text/json-scan.ts'
import type { BodyEdits } from '../../../../lib/forward/llm/llm-call-types.ts'
import { fc } from '../../../support/fast-check.ts'
import { jsonKeys } from '../../../support/json-keys.ts'
import { editsOf, Provider, ROOM, started } from './stand-ins.ts'

const property = suite('llm prompt, any')

/** The expected result of the edits on a whole body. */
function judged(bytes: Buffer, { set, replace, defaults, usage }: BodyEdits): Buffer {
  const root = findJsonValue(bytes)!
  const members = listMembers(bytes, root)
  const own = new Map(members.map((member) => [member.key, member]))
  const textOf = (name: string): string | undefined => {
    const member = own.get(name)
    return member === undefined ? undefined : bytes.toString('utf8', member.from, member.to)
  }
  const edits: JsonEdit[] = []
  for (const [name, text] of new Map([...replace, ...set])) {
    const member = own.get(name)
    if (member !== undefined) edits.push({ from: member.from, to: member.to, text })
  }
  const added = [...set, ...[...defaults].filter(([name]) => !set.has(name))].filter(
    ([name]) => !own.has(name),
  )
  const streams = (set.get('stream') ?? textOf('stream') ?? defaults.get('stream')) === 'true'
  if (usage !== 'leave' && streams && !set.has('stream_options')) {
    const options = own.get('stream_options')
    if (options !== undefined) {
      const text = withUsage(textOf('stream_options')!)
      if (text !== null) edits.push({ from: options.from, to: options.to, text })
    } else if (!defaults.has('stream_options'))
      added.push(['stream_options', '{"include_usage":true}'])
  }
  const text = added.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')
  if (text !== '')
    edits.push({ from: root.to - 1, to: root.to - 1, text: (own.size > 0 ? ',' : '') + text })
  return applyEdits(bytes, edits)
}

/** Options as JSON.stringify writes them, so that they can be compared. */
function withUsage(text: string): string | null {
  const options: unknown = JSON.parse(text)
  if (options === null) return '{"include_usage":true}'
  if (typeof options !== 'object' || Array.isArray(options)) return null
  if ('include_usage' in options)
    return options.include_usage === true
      ? null
      : JSON.stringify({ ...options, include_usage: true })
  return JSON.stringify({ include_usage: true, ...options })
}

const STRING = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀', '"', '\\', '\n', '\0', '/', '{', ']') }),
  fc.constantFrom(
    '"model":"x"',
    '}',
    '{"model":1}',
    'x'.repeat(70),
    '\\',
    '\\\\"',
    ',"stream":true',
  ),
)
const TREE = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    STRING,
    fc.oneof(fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.boolean()),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(jsonKeys(fc.oneof(STRING, fc.constantFrom('model', 'stream'))), tie('value'), {
      maxKeys: 4,
    }),
  ),
})).value

const OPTIONS = fc.constantFrom(
  ...['null', '{}', '{"include_usage":false}', '{"include_usage":true}', '{"a":[1,"}"]}'],
  ...['{"b":{"include_usage":true},"include_usage":null,"c":1}', '[]', '"x"', 'false'],
)
const OTHERS = ['temperature', 'user', 'n\\u0061me', 'größe', '"', 'models']

/** A member as `"name":value`, with names and values weighted by importance. */
const MEMBER = fc.oneof(
  fc.tuple(fc.constant('stream_options'), OPTIONS),
  fc.tuple(fc.constant('stream'), fc.constantFrom('true', 'true', 'false', 'null')),
  fc.tuple(fc.constant('model'), fc.constantFrom('"gpt"', '"m\\"}"', '"日本"', 'null')),
  fc.tuple(fc.constant('max_tokens'), fc.constantFrom('1', '100', 'null', '1e2')),
  fc.tuple(
    fc.constant('messages'),
    TREE.map((tree) => JSON.stringify(tree)),
  ),
  fc.tuple(
    fc.constantFrom(...OTHERS),
    TREE.map((tree) => JSON.stringify(tree, null, ' ')),
  ),
)
const SPACE = fc.constantFrom('', '', ' ', '\r\n\t')
const BODY = fc
  .tuple(fc.uniqueArray(MEMBER, { selector: ([name]) => name, maxLength: 7 }), SPACE, SPACE)
  .map(([members, inner, outer]) => {
    const text = members.map(([name, value]) => {
      const written = name.includes('\\') ? `"${name}"` : JSON.stringify(name)
      return inner + written + inner + ':' + inner + value + inner
    })
    return Buffer.from(`${outer}{${text.join(',')}${inner}}${outer}`)
  })

const NAMES = ['model', 'stream', 'stream_options', 'temperature', 'name', 'größe', 'added', '"']
const TEXT = fc.constantFrom(
  '"other"',
  'true',
  'false',
  '{"a":1}',
  '"日本, a longer one"',
  '1',
  'null',
)
const EDIT_MAP = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), TEXT), { maxLength: 3 })
  .map((entries) => new Map(entries))
const EDITS: fc.Arbitrary<BodyEdits> = fc.record({
  set: EDIT_MAP,
  replace: fc.constantFrom(new Map<string, string>(), new Map([['model', '"by another name"']])),
  defaults: EDIT_MAP,
  usage: fc.constantFrom('ask', 'askIfPossible', 'leave'),
})
const FRAMING = fc.constantFrom('length' as const, 'chunked' as const, 'open' as const)
const CUTS = fc.array(fc.nat(), { maxLength: 5 })

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  )
  return places
    .map((place, i) => bytes.subarray(places[i - 1] ?? 0, place))
    .filter((chunk) => chunk.length > 0)
}

/** The bytes that arrive, without the padding to the content-length. */
function compare(provider: Provider, bytes: Buffer, edits: BodyEdits, length: number): void {
  const expected = judged(bytes, edits)
  const { text } = provider
  assert.is(provider.state, 'ended')
  assert.is(text.slice(0, expected.toString().length), expected.toString())
  assert.match(text.slice(expected.toString().length), /^ *$/)
  if (length >= 0) assert.is(provider.bytes.length, length)
  else assert.is(provider.bytes.length, expected.length)
}

property('a complete body is edited like its text, with its exact length', () => {
  fc.assert(
    fc.property(BODY, EDITS, CUTS, FRAMING, (bytes, edits, cuts, framing) => {
      const scene = started({ framing, first: cutAt(bytes, cuts), names: NAMES })
      assert.equal(scene.owner.calls, ['ready'], String(scene.owner.error))
      const body = scene.prompt.createAttemptBody(edits)
      const provider = new Provider(body)
      assert.is(provider.text, judged(bytes, edits).toString())
      assert.is(provider.state, 'ended')
      assert.is(body.length, provider.bytes.length)
      assert.is(scene.head.get('content-length'), String(body.length))
      assert.is(scene.head.has('transfer-encoding'), false)
      scene.prompt.discard()
      assert.is(scene.together.remaining, ROOM)
    }),
    { numRuns: 2000 },
  )
})

property(
  'a body that is still arriving is edited correctly, whatever was known at its start',
  () => {
    fc.assert(
      fc.property(BODY, EDITS, CUTS, FRAMING, fc.nat(), (bytes, edits, cuts, framing, seed) => {
        const chunks = cutAt(bytes, cuts)
        const before = seed % (chunks.length + 1)
        const [first, later] = [chunks.slice(0, before), chunks.slice(before)]
        const scene = started({ framing, first, later, names: NAMES })
        const body = scene.prompt.createAttemptBody(edits)
        const provider = new Provider(body)
        for (const chunk of later) assert.is(scene.client.send(chunk), true)
        scene.client.end()
        assert.is(body.framing, framing === 'length' ? 'length' : 'open')
        compare(provider, bytes, edits, body.length)
        scene.prompt.discard()
        assert.is(scene.together.remaining, ROOM)
      }),
      { numRuns: 3000 },
    )
  },
)

property(
  'a second attempt gets the same body with other edits, wherever the first one ended',
  () => {
    fc.assert(
      fc.property(
        BODY,
        fc.tuple(EDITS, EDITS),
        CUTS,
        fc.nat(),
        fc.nat(),
        (bytes, edits, cuts, a, b) => {
          const chunks = cutAt(bytes, cuts)
          const [start, stop] = [a % (chunks.length + 1), b % (chunks.length + 1)]
          const [first, later] = [chunks.slice(0, start), chunks.slice(start)]
          const keep = bytes.length
          const scene = started({
            framing: 'chunked',
            first,
            later,
            names: NAMES,
            maxKeptBytes: keep,
          })
          new Provider(scene.prompt.createAttemptBody(edits[0]))
          for (const chunk of later.slice(0, stop)) scene.client.send(chunk)
          scene.prompt.endAttempt()
          assert.is(scene.prompt.isReplayable, true)
          const body = scene.prompt.createAttemptBody(edits[1])
          const provider = new Provider(body)
          for (const chunk of later.slice(stop)) scene.client.send(chunk)
          scene.client.end()
          compare(provider, bytes, edits[1], body.length)
          scene.prompt.discard()
          assert.is(scene.together.remaining, ROOM)
        },
      ),
      { numRuns: 1000 },
    )
  },
)

property('facts are what the body says', () => {
  fc.assert(
    fc.property(BODY, CUTS, (bytes, cuts) => {
      const { prompt } = started({ first: cutAt(bytes, cuts) })
      const said = JSON.parse(bytes.toString()) as Record<string, unknown>
      assert.is(prompt.model, said['model'] ?? null)
      assert.is(prompt.stream, said['stream'] ?? null)
      assert.is(prompt.maxTokens, said['max_tokens'] ?? null)
      const options = said['stream_options'] as { include_usage?: unknown } | null | undefined
      const usage = options?.include_usage
      assert.is(prompt.includeUsage, typeof usage === 'boolean' ? usage : null)
    }),
    { numRuns: 500 },
  )
})

property(
  'without budget to wait for `stream`, the options are not changed and all other edits are made',
  () => {
    const text = '{"stream_options":{},"messages":[],"stream":true}'
    const edits = editsOf({ usage: 'ask' })
    for (const room of [0, 6, 7]) {
      const together = new ByteBudget(room)
      const later = [text.slice(0, 20), text.slice(20, 25), text.slice(25)]
      const scene = started({ first: [], later, sharedBudget: together })
      const provider = new Provider(scene.prompt.createAttemptBody(edits))
      for (const chunk of later) scene.client.send(chunk)
      scene.client.end()
      const waited = '{"stream_options":{"include_usage":true},"messages":[],"stream":true}'
      assert.is(provider.text.trimEnd(), room < 7 ? text : waited)
      assert.is(together.remaining, room)
    }
  },
)

property.run()
