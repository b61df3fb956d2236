// One event stream for all parts of the page.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LiveEvents, LiveTopic } from '../../lib/admin/page-api/page-api-types.ts'
import { Live } from '../../lib/page/server-data.ts'
import type { EventStream, LinkState } from '../../lib/page/server-data.ts'

const live = suite('page/server-data')

class Stream implements EventStream {
  readonly path: string
  readyState = 0
  readonly #hears = new Map<string, (event: { readonly data: string }) => void>()

  constructor(path: string) {
    this.path = path
  }

  addEventListener(name: string, receive: (event: { readonly data: string }) => void): void {
    this.#hears.set(name, receive)
  }

  close(): void {
    this.readyState = 2
  }

  opened(): void {
    this.readyState = 1
    this.say('open', null)
  }

  say(name: LiveTopic | 'open' | 'error', event: unknown): void {
    this.#hears.get(name)?.({ data: JSON.stringify(event) })
  }
}

/** A page whose timers run when the test says so. */
class Page {
  readonly streams: Stream[] = []
  readonly waits: number[] = []
  readonly live: Live
  #next: (() => void) | null = null

  constructor() {
    const open = (path: string): Stream => {
      const stream = new Stream(path)
      this.streams.push(stream)
      return stream
    }
    this.live = new Live(open, (act, ms) => {
      this.waits.push(ms)
      this.#next = act
      return () => {
        this.#next = null
      }
    })
  }

  get stream(): Stream {
    return this.streams.at(-1)!
  }

  settle(): void {
    const next = this.#next
    this.#next = null
    next?.()
  }

  part<T extends LiveTopic>(topic: T) {
    const heard: LiveEvents[T][] = []
    const states: LinkState[] = []
    const leave = this.live.add({
      topic,
      receive: (event) => heard.push(event),
      stateChanged: (state) => states.push(state),
    })
    return { heard, states, leave }
  }
}

live('opens one stream for the topics of all parts', () => {
  const page = new Page()
  for (const topic of ['runtime', 'config', 'logs', 'config'] as const) page.part(topic)
  page.settle()
  assert.equal(
    page.streams.map(({ path }) => path),
    ['/api/live?topics=config,logs,runtime'],
  )
})

live('delivers to each part its own topic only', () => {
  const page = new Page()
  const [one, other, logs] = [page.part('config'), page.part('config'), page.part('logs')]
  page.settle()
  const event = { generation: 2, isRefused: false }
  page.stream.say('config', event)
  assert.equal([one.heard, other.heard, logs.heard], [[event], [event], []])
})

live('reconnects once when one page replaces another', () => {
  const page = new Page()
  page.part('config')
  const gone = page.part('logs')
  page.settle()
  gone.leave()
  const come = page.part('limits')
  page.settle()
  assert.is(page.streams.length, 2)
  assert.is(page.streams[0]!.readyState, 2)
  assert.is(page.stream.path, '/api/live?topics=config,limits')
  come.leave()
  page.part('limits')
  page.settle()
  assert.is(page.streams.length, 2)
})

live('closes without listeners', () => {
  const page = new Page()
  const { leave } = page.part('logs')
  page.settle()
  leave()
  page.settle()
  assert.is(page.streams.length, 1)
  assert.is(page.stream.readyState, 2)
})

live('reports the connection state, also to later listeners', () => {
  const page = new Page()
  const { states } = page.part('logs')
  page.settle()
  page.stream.opened()
  page.stream.say('error', null)
  assert.equal(states, ['opening', 'open', 'lost'])
  assert.equal(page.part('config').states, ['lost'])
})

live('leaves a broken connection to the browser, and retries after a refusal', () => {
  const page = new Page()
  page.part('logs')
  page.settle()
  page.stream.say('error', null)
  page.settle()
  assert.is(page.streams.length, 1)
  page.stream.close()
  page.stream.say('error', null)
  assert.ok(page.waits.at(-1)! > 0)
  page.settle()
  assert.is(page.streams.length, 2)
  assert.is(page.stream.path, '/api/live?topics=logs')
})

live.run()
