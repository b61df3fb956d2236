// The event streams of the page: each topic at its interval, only what is new, and nothing for a reader that is full.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ConfigRefusal } from '../../../lib/config/config-error.ts'
import { Log } from '../../../lib/core/log.ts'
import type { EventWriter } from '../../../lib/text/sse-output.ts'
import type {
  LimitRule,
  LimitsView,
  LiveEvents,
  McpView,
  Sample,
  LiveTopic,
} from '../../../lib/admin/page-api/page-api-types.ts'
import type { UiResponse } from '../../../lib/admin/page-api/page-request.ts'
import { RecentLogLines } from '../../../lib/admin/page-api/recent-log-lines.ts'
import { LiveStreams, MAX_EVENT_LINES } from '../../../lib/admin/page-api/live-updates.ts'

const test = suite('ui/live-streams')

class Reader implements EventWriter {
  isFull = false
  #text = ''

  write(text: string): void {
    assert.not.ok(this.isFull, 'a reader that is full is passed over')
    this.#text += text
  }

  onDrain(): void {}
  end(): void {}
  destroy(): void {}

  /** The events since the last call. */
  take(): [LiveTopic, never][] {
    const events = this.#text.split('\n\n').slice(0, -1)
    this.#text = ''
    return events.map((event) => {
      const [, topic, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
      return [topic as LiveTopic, JSON.parse(data!) as never]
    })
  }

  topics(): string {
    return this.take()
      .map(([topic]) => topic)
      .join()
  }
}

const RULE: LimitRule = {
  ...{ id: 'r', name: 'n', owner: 'o', counts: 'requests', amount: 1, limit: 9, interval: 1000 },
  ...{ key: null, remaining: 9, reset: 60, keys: 0, tightest: [], history: [] },
  decisions: { allow: 0, deny: 0, failed: 0 },
}

class World {
  readonly log = new Log({ level: 'info', format: 'text', write: (_text, done) => done() })
  readonly lines = new RecentLogLines(this.log)
  remaining = 9
  open = 0
  generation = 1
  refusal: ConfigRefusal | null = null
  looks = 0
  readonly #leaves: (() => void)[] = []
  readonly streams = new LiveStreams({
    lines: this.lines,
    limits: () => this.#limits,
    mcp: () => this.#mcp,
    config: () => ({ generation: this.generation, refusal: this.refusal }),
  })

  constructor() {
    this.lines.start()
  }

  get #limits(): LimitsView {
    this.looks++
    return { rules: { shown: [{ ...RULE, remaining: this.remaining }], more: 0 } }
  }

  get #mcp(): McpView {
    const [backend] = [{ key: 'b', open: this.open, sessions: { shown: [], more: 0 } }]
    const { looks: age } = this
    const child = { pid: 1, target: 't', session: 's', state: 'running', age, rss: age }
    const children = { shown: [{ ...child, lastStderr: [] }], more: 0 }
    return { backends: [backend as unknown as McpView['backends'][0]], children }
  }

  ask(topics: string): UiResponse {
    const query = new URLSearchParams({ topics })
    return this.streams.answer({ method: 'GET', path: '/api/live', query, ifNoneMatch: undefined })
  }

  reader(topics: string): Reader {
    const answer = this.ask(topics)
    assert.is(answer.kind, 'events')
    const reader = new Reader()
    if (answer.kind === 'events') this.#leaves.push(answer.open(reader))
    return reader
  }

  tick(sample: object = { at: 1 }): void {
    this.streams.tick(sample as Sample)
  }

  say(count: number): void {
    for (let at = 0; at < count; at++) this.log.write('info', 'gateway', 'said', ['at', at])
  }

  close(): void {
    for (const leave of this.#leaves.splice(0)) leave()
  }
}

let world: World
test.before.each(() => void (world = new World()))
test.after.each(() => world.close())

test('refuses unknown topics, and lists the known ones', () => {
  for (const [topics, got] of [
    ['', 'no topics'],
    ['runtime,traffic', `topic 'traffic'`],
    ['__proto__', `topic '__proto__'`],
  ]) {
    const answer = world.ask(topics!)
    assert.is(answer.kind, 'whole')
    if (answer.kind !== 'whole') return
    assert.is(answer.status, 400)
    const { error } = JSON.parse(String(answer.content)) as { error: string }
    assert.is(error, `got ${got}, expected some of runtime, logs, limits, mcp, config`)
  }
})

test('reads nothing while there are no readers', () => {
  world.tick()
  assert.is(world.looks, 0)
  world.reader('limits')
  world.tick()
  assert.is(world.looks, 1)
  world.close()
  world.tick()
  assert.is(world.looks, 1)
})

test('sends each sample, formatted once for all readers', () => {
  const readers = [world.reader('runtime'), world.reader('runtime,config'), world.reader('config')]
  for (const reader of readers) reader.take()
  let written = 0
  world.tick({ toJSON: () => ({ at: ++written }) })
  assert.is(written, 1)
  assert.equal(readers[0]!.take(), [['runtime', { at: 1 }]])
  assert.equal(readers[1]!.take(), [['runtime', { at: 1 }]])
  assert.equal(readers[2]!.take(), [])
})

test('sends limits and MCP when they have changed since the reader got them', () => {
  const one = world.reader('limits,mcp')
  assert.is(one.topics(), '')
  world.tick()
  assert.is(one.topics(), 'limits,mcp')
  world.tick()
  assert.is(one.topics(), '')
  const two = world.reader('mcp')
  world.remaining = 8
  world.tick()
  assert.is(one.topics(), 'limits')
  assert.is(two.topics(), 'mcp')
  world.open = 1
  world.tick()
  assert.is(one.topics(), 'mcp')
  assert.is(two.topics(), 'mcp')
})

test('sends the configuration at once, and after each reload and refusal', () => {
  const reader = world.reader('config')
  assert.equal(reader.take(), [['config', { generation: 1, isRefused: false }]])
  world.tick()
  assert.equal(reader.take(), [])
  world.refusal = { at: new Date(), problems: ['a'] }
  world.tick()
  assert.equal(reader.take(), [['config', { generation: 1, isRefused: true }]])
  world.refusal = { at: new Date(), problems: ['b'] }
  world.tick()
  assert.equal(reader.take(), [['config', { generation: 1, isRefused: true }]])
  world.refusal = null
  world.generation = 2
  world.tick()
  assert.equal(reader.take(), [['config', { generation: 2, isRefused: false }]])
})

type LogEvent = LiveEvents['logs']

function numbersOf(reader: Reader): unknown[] {
  return reader.take().map(([, event]) => {
    const { lines, dropped } = event as LogEvent
    return [lines[0]?.number, lines.at(-1)?.number, dropped]
  })
}

test('collects log lines, starts with the last ones, and counts those beyond the limit', () => {
  world.say(MAX_EVENT_LINES + 30)
  const reader = world.reader('logs')
  world.streams.sendLogLines()
  assert.equal(numbersOf(reader), [[31, 230, 0]])
  world.streams.sendLogLines()
  assert.equal(numbersOf(reader), [])
  world.say(2)
  world.streams.sendLogLines()
  assert.equal(numbersOf(reader), [[231, 232, 0]])
  world.say(MAX_EVENT_LINES + 5)
  world.streams.sendLogLines()
  assert.equal(numbersOf(reader), [[238, 437, 5]])
})

test('skips a reader that is full, and continues with what is new then', () => {
  const slow = world.reader('runtime,logs,limits')
  const quick = world.reader('logs,limits')
  slow.isFull = true
  world.say(3)
  world.tick()
  world.streams.sendLogLines()
  world.remaining = 5
  world.say(1000)
  world.tick()
  world.streams.sendLogLines()
  assert.equal(slow.take(), [])
  assert.is(quick.topics(), 'limits,logs,limits,logs')
  slow.isFull = false
  world.tick({ at: 9 })
  world.streams.sendLogLines()
  const [runtime, limits, logs] = slow.take()
  assert.equal(runtime, ['runtime', { at: 9 }])
  assert.is((limits![1] as LimitsView).rules.shown[0]?.remaining, 5)
  const { lines, dropped } = logs![1] as LogEvent
  assert.equal([lines.length, lines.at(-1)?.number, dropped], [MAX_EVENT_LINES, 1003, 803])
})

test.run()
