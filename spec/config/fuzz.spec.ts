// A thousand broken configurations: each one gives a Config or a refusal with places, never anything else.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseAllDocuments, stringify } from 'yaml'
import { ConfigError } from '../../lib/config/config-error.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { QUICKSTART } from '../../lib/config/quickstart.ts'
import { problemsOf, ungatedConfig } from '../support/config.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { RICH_CONFIG } from '../support/rich-config.ts'
import { ROOT } from '../support/root.ts'

/** `npm run fuzz` tries many more. */
const ROUNDS = 500
/** No text of this size may take longer, however busy the machine is. */
const MOST_MS = 2000

const examples = readdirSync(join(ROOT, 'examples'))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => readFileSync(join(ROOT, 'examples', name), 'utf8'))
const SEEDS = [RICH_CONFIG, ...partsOf(RICH_CONFIG), QUICKSTART, ...examples]

/** Each route and each section alone: small, so that there is time for many. */
function partsOf(text: string): string[] {
  const [main, resource] = parseAllDocuments(text, { merge: true }).map(
    (one) => one.toJS() as Record<string, unknown>,
  )
  const { gateways, backends, routes, mcp, llm, ui, ...rest } = main!
  const small = (routes as unknown[]).map((route) => ({ gateways, backends, routes: [route] }))
  const alone = [...small, { mcp }, { llm }, { gateways, ui, mcp, ...rest }]
  const named = { gateways: { default: { port: 1 } } }
  return [...alone.map((one) => stringify(one)), `${stringify(named)}---\n${stringify(resource)}`]
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

type Pick = <T>(list: readonly T[]) => T

function pickOf(random: () => number): Pick {
  return (list) => list[Math.floor(random() * list.length)]!
}

const PIECES =
  '{ } [ ] : - , " \' | > & * ! % @ # ? ~ \n \t \r \\ \0 \ufeff \ud800 é ${A} ${B} ${ $$ --- ... << *policies !!binary'
    .split(' ')
    .concat([' ', '  ', '\n', '\n- ', ': ', '999999999999999999999', '-1', '.nan', '0x10', 'null'])

/** Letters taken out, put in, or repeated; lines moved. */
function mutateText(text: string, random: () => number): string {
  const pick = pickOf(random)
  let changed = text
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--) {
    const at = Math.floor(random() * changed.length)
    const length = Math.floor(random() * 12)
    const lines = changed.split('\n')
    changed = pick([
      () => changed.slice(0, at) + changed.slice(at + length),
      () => changed.slice(0, at) + pick(PIECES) + changed.slice(at),
      () => changed.slice(0, at) + changed.slice(at, at + length).repeat(3) + changed.slice(at),
      () => changed.slice(0, at),
      () => lines.toSpliced(Math.floor(random() * lines.length), 1, pick(lines)).join('\n'),
      () =>
        lines.map((line, index) => (index === lines.length >> 1 ? ` ${line}` : line)).join('\n'),
    ])()
  }
  return changed
}

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  NaN,
  '',
  ' ',
  'x',
  'default',
  '*',
  '${A}',
  '${',
  '$$',
  '/',
  '::1',
  'a:1',
  'https://[',
  'unix:/',
  '(a+)+$',
  '[',
  'jwt.',
  '1h',
  '99999h',
  [],
  [[]],
  [null],
  {},
  { a: {} },
  { '': 1 },
  { kind: 'GatewayPolicy' },
  'x'.repeat(5000),
  Array(40).fill('a'),
  { __proto__: null, constructor: 1 },
]

const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'length',
  '',
  'a/b',
  'a b',
  'name',
  'policies',
  'x'.repeat(300),
]

interface Slot {
  readonly holder: Record<string, unknown>
  readonly key: string
}

function slotsOf(node: unknown, found: Slot[] = []): Slot[] {
  if (typeof node !== 'object' || node === null) return found
  for (const [key, value] of Object.entries(node)) {
    found.push({ holder: node as Record<string, unknown>, key })
    slotsOf(value, found)
  }
  return found
}

/** As a key of its own, whatever it is called. */
function put(holder: Record<string, unknown>, key: string, value: unknown): void {
  if (Array.isArray(holder)) holder.push(value)
  else
    Object.defineProperty(holder, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
}

/** Values replaced, taken out, renamed, or put where they do not belong. */
function mutateData(text: string, random: () => number): string {
  const pick = pickOf(random)
  const documents = parseAllDocuments(text, { merge: true }).map((one) => one.toJS() as unknown)
  for (let count = 1 + Math.floor(random() * 2); count > 0; count--) {
    const slots = slotsOf(documents)
    if (slots.length === 0) break
    const { holder, key } = pick(slots)
    const other = pick(slots)
    pick([
      () => (holder[key] = pick(VALUES)),
      () => (holder[key] = pick(VALUES)),
      () => (holder[key] = structuredClone(other.holder[other.key])),
      () => delete holder[key],
      () => put(holder, pick(KEYS), holder[key]),
      () => (holder[key] = [holder[key], holder[key]]),
      () => (holder[key] = { [pick(KEYS)]: holder[key] }),
    ])()
  }
  const write = pick([
    (one: unknown) => JSON.stringify(one) ?? '',
    (one: unknown) => stringify(one),
  ])
  return documents.map(write).join('\n---\n')
}

/** What came of it; anything but a Config or a refusal is an error of ours. */
function outcomeOf(text: string, gate: 'on' | 'off'): 'config' | 'refusal' {
  const from = cpuMs()
  try {
    const config = parseConfig(text, { file: 'f.yaml', env: { A: '1' }, gate })
    JSON.stringify(config)
    assert.ok(config.gateways.length > 0)
    return 'config'
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    assert.ok(error.problems.length > 0)
    for (const { file, line, column, message } of error.problems)
      assert.ok(file === 'f.yaml' && line > 0 && column > 0 && message !== '', error.message)
    return 'refusal'
  } finally {
    const taken = cpuMs() - from
    assert.ok(taken < MOST_MS, `took ${taken} ms`)
  }
}

const fuzz = suite('broken configurations')

fuzz('start from one that uses nearly every field and is right', () => {
  const config = ungatedConfig(RICH_CONFIG)
  assert.is(config.gateways.length, 4)
  for (const { conditions } of config.resources[0]!.status.ancestors)
    for (const { status } of conditions) assert.is(status, 'True')
  assert.ok(problemsOf(RICH_CONFIG).every((line) => line.includes('is checked but not enforced')))
})

for (const [name, mutate] of Object.entries({ text: mutateText, data: mutateData }))
  fuzz(`are refused with places when their ${name} is broken`, () => {
    const counts = { config: 0, refusal: 0 }
    for (let seed = 0; seed < ROUNDS; seed++) {
      const random = randomOf(seed)
      const text = mutate(SEEDS[seed % SEEDS.length]!, random)
      try {
        counts[outcomeOf(text, seed % 2 === 0 ? 'on' : 'off')]++
      } catch (error) {
        const { stack } = error as Error
        throw new Error(`seed ${seed}: ${stack}\n${text.slice(0, 3000)}`, { cause: error })
      }
    }
    // Both happen, or the mutations are not worth their time.
    assert.ok(counts.refusal > ROUNDS / 4 && counts.config > ROUNDS / 50, JSON.stringify(counts))
  })

fuzz.run()
