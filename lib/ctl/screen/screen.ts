// The screen of gwctl proxy trace: events on one side, keys on the other, one picture of both.

import { writeFileSync } from 'node:fs'
import type { Sending } from '../trace/inject.ts'
import { Pursuit } from '../trace/pursuit.ts'
import type { Source } from '../trace/source.ts'
import { fileStamp } from '../stamp.ts'
import { lookOf } from './look.ts'
import type { Look } from './look.ts'
import { modelOf, withEnd, withStep } from './model.ts'
import type { Model, StreamState } from './model.ts'
import { press } from './press.ts'
import { render } from './render.ts'
import { stepOf } from '../../trace-view/trace-event.ts'
import { Terminal } from './terminal.ts'

/** Terminals drop more than this, some silently. */
const MAX_COPY_BYTES = 74_000
/** Many events at once are one picture. */
const PICTURE_INTERVAL = 30

export async function show(source: Source, sending: Sending | null): Promise<void> {
  await new Screen(source, sending).run()
}

class Screen {
  readonly #source: Source
  readonly #sending: Sending | null
  readonly #terminal: Terminal
  readonly #look: Look
  #model: Model
  #picture: NodeJS.Timeout | undefined
  #failure: Error | null = null
  #quit!: () => void

  constructor(source: Source, sending: Sending | null) {
    this.#source = source
    this.#sending = sending
    this.#terminal = new Terminal({
      key: (name) => this.#pressed(name),
      resized: (size) => this.#change({ ...this.#model, size }),
    })
    this.#look = lookOf(process.env)
    const state: StreamState = sending === null ? 'waiting' : 'sent'
    this.#model = modelOf(source.label, this.#terminal.size, state)
  }

  /** Until somebody quits; throws then what went wrong. Whatever it was, the terminal is as before. */
  async run(): Promise<void> {
    let fail: (error: Error) => void
    const quit = new Promise<void>((resolve, reject) => {
      this.#quit = resolve
      fail = reject
    })
    const signals = ['SIGTERM', 'SIGHUP'] as const
    for (const signal of signals) process.once(signal, this.#quit)
    // What it says would be gone with this screen.
    process.once('uncaughtException', fail!)
    try {
      this.#terminal.open()
      this.#draw()
      void this.#read()
      await quit
    } finally {
      clearTimeout(this.#picture)
      for (const signal of signals) process.off(signal, this.#quit)
      process.off('uncaughtException', fail!)
      this.#terminal.close()
    }
    if (this.#failure !== null) throw this.#failure
  }

  async #read(): Promise<void> {
    const pursuit = new Pursuit(this.#source, this.#sending)
    pursuit.start('kept')
    try {
      for await (const line of this.#source.lines) {
        pursuit.seen()
        this.#change(withStep(this.#model, stepOf(line)))
      }
      await pursuit.over()
      this.#change(withEnd(this.#model))
    } catch (error) {
      this.#failure = error as Error
      this.#change({ ...this.#model, stream: 'broken', notice: this.#failure.message })
    }
  }

  #pressed(key: string): void {
    const model = press(this.#model, key)
    this.#model = { ...model, wish: 'nothing' }
    if (model.wish === 'quit') return this.#quit()
    if (model.wish === 'copy') this.#copy()
    if (model.wish === 'save') this.#save()
    this.#draw()
  }

  #copy(): void {
    const text = this.#model.details.join('\n')
    const bytes = Buffer.byteLength(text)
    if (bytes > MAX_COPY_BYTES) return this.#tell(`${bytes} bytes are too many to copy: w saves`)
    this.#terminal.copy(text)
    this.#tell(`copied ${bytes} bytes`)
  }

  /** For the eyes of whoever traces only: a trace may hold what others should not see. */
  #save(): void {
    const file = `trace-${fileStamp(new Date())}.jsonl`
    const { steps } = this.#model
    try {
      const text = steps.map((step) => step.text + '\n').join('')
      writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
      this.#tell(`saved ${steps.length} events to ${file}`)
    } catch (error) {
      this.#tell(`cannot save ${file}: ${(error as Error).message}`)
    }
  }

  #tell(notice: string): void {
    this.#model = { ...this.#model, notice }
  }

  #change(model: Model): void {
    this.#model = model
    this.#picture ??= setTimeout(() => this.#draw(), PICTURE_INTERVAL)
  }

  #draw(): void {
    clearTimeout(this.#picture)
    this.#picture = undefined
    this.#terminal.show(render(this.#model, this.#look))
  }
}
