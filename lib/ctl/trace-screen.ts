// The interactive view of gwctl proxy trace: reads events and keys, and draws the screen.

import { openSync, writeFileSync } from 'node:fs'
import { emitKeypressEvents } from 'node:readline'
import type { Key } from 'node:readline'
import { ReadStream } from 'node:tty'
import type { WriteStream } from 'node:tty'
import { stepOf } from '../trace-view/trace-event.ts'
import { linesText } from '../trace-view/trace-file.ts'
import type { CurlRequest } from './curl-request.ts'
import { fileTimestamp } from './print-output.ts'
import { addStep, completeStream, createModel, handleKey } from './screen-model.ts'
import type { ScreenModel, ScreenSize } from './screen-model.ts'
import { createTheme, render } from './screen-render.ts'
import type { Theme } from './screen-render.ts'
import { TracedRequest } from './trace-source.ts'
import type { TraceSource } from './trace-source.ts'

/** Switches to the alternate screen, hides the cursor, and cuts long lines instead of wrapping them. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const DEFAULT_SIZE: ScreenSize = { columns: 80, rows: 24 }
/** Terminals ignore more than this, some without an error. */
const MAX_COPY_BYTES = 74_000
/** Events within this time are drawn together, in milliseconds. */
const DRAW_INTERVAL = 30

export async function showTrace(source: TraceSource, request: CurlRequest | null): Promise<void> {
  await new TraceScreen(source, request).run()
}

class TraceScreen {
  readonly #source: TraceSource
  readonly #request: CurlRequest | null
  readonly #terminal: Terminal
  readonly #theme: Theme
  #model: ScreenModel
  #drawTimer: NodeJS.Timeout | undefined
  #failure: Error | null = null
  #quit!: () => void

  constructor(source: TraceSource, request: CurlRequest | null) {
    this.#source = source
    this.#request = request
    this.#terminal = new Terminal({
      key: (name) => this.#handleKey(name),
      resized: (size) => this.#change({ ...this.#model, size }),
    })
    this.#theme = createTheme(process.env)
    const state = request === null ? 'waiting' : 'sent'
    this.#model = createModel(source.label, this.#terminal.size, state)
  }

  /** Resolves when the user quits, or rejects with the failure of the trace; the terminal is restored in every case. */
  async run(): Promise<void> {
    let fail: (error: Error) => void
    const quit = new Promise<void>((resolve, reject) => {
      this.#quit = resolve
      fail = reject
    })
    const signals = ['SIGTERM', 'SIGHUP'] as const
    for (const signal of signals) process.once(signal, this.#quit)
    // The message would disappear with the alternate screen.
    process.once('uncaughtException', fail!)
    try {
      this.#terminal.open()
      this.#draw()
      void this.#readEvents()
      await quit
    } finally {
      clearTimeout(this.#drawTimer)
      for (const signal of signals) process.off(signal, this.#quit)
      process.off('uncaughtException', fail!)
      this.#terminal.close()
    }
    if (this.#failure !== null) throw this.#failure
  }

  async #readEvents(): Promise<void> {
    const traced = new TracedRequest(this.#source, this.#request)
    traced.start('capture')
    try {
      for await (const line of this.#source.lines) {
        traced.countEvent()
        this.#change(addStep(this.#model, stepOf(line)))
      }
      await traced.finish()
      this.#change(completeStream(this.#model))
    } catch (error) {
      this.#failure = error as Error
      this.#change({ ...this.#model, stream: 'failed', notice: this.#failure.message })
    }
  }

  #handleKey(key: string): void {
    const model = handleKey(this.#model, key)
    this.#model = { ...model, command: 'none' }
    if (model.command === 'quit') return this.#quit()
    if (model.command === 'copy') this.#copy()
    if (model.command === 'save') this.#save()
    this.#draw()
  }

  #copy(): void {
    const text = this.#model.details.join('\n')
    const bytes = Buffer.byteLength(text)
    if (bytes > MAX_COPY_BYTES)
      return this.#notify(`${bytes} bytes are too many to copy: save with w`)
    this.#terminal.copy(text)
    this.#notify(`copied ${bytes} bytes`)
  }

  /** Only the user may read the file: a trace may hold secrets. */
  #save(): void {
    const file = `trace-${fileTimestamp(new Date())}.jsonl`
    const { steps } = this.#model
    try {
      writeFileSync(file, linesText(steps), { flag: 'wx', mode: 0o600 })
      this.#notify(`saved ${steps.length} events to ${file}`)
    } catch (error) {
      this.#notify(`cannot save ${file}: ${(error as Error).message}`)
    }
  }

  #notify(notice: string): void {
    this.#model = { ...this.#model, notice }
  }

  #change(model: ScreenModel): void {
    this.#model = model
    this.#drawTimer ??= setTimeout(() => this.#draw(), DRAW_INTERVAL)
  }

  #draw(): void {
    clearTimeout(this.#drawTimer)
    this.#drawTimer = undefined
    this.#terminal.show(render(this.#model, this.#theme))
  }
}

interface TerminalListener {
  key(name: string): void
  resized(size: ScreenSize): void
}

/** The terminal while the screen is open: reports single keys, and is restored however gwctl ends. */
class Terminal {
  readonly #output: WriteStream = process.stdout
  readonly #input: ReadStream
  readonly #listener: TerminalListener
  #shown: readonly string[] = []
  #state: 'closed' | 'open' = 'closed'

  constructor(listener: TerminalListener) {
    this.#listener = listener
    // Standard input may be the trace.
    this.#input = process.stdin.isTTY ? process.stdin : openKeyboard()
  }

  get size(): ScreenSize {
    const { columns, rows } = this.#output
    return { columns: columns || DEFAULT_SIZE.columns, rows: rows || DEFAULT_SIZE.rows }
  }

  open(): void {
    this.#state = 'open'
    process.on('exit', this.close)
    this.#input.setRawMode(true)
    emitKeypressEvents(this.#input)
    this.#input.on('keypress', this.#onKeypress)
    this.#input.resume()
    this.#output.on('resize', this.#onResize)
    this.#output.write(ENTER)
  }

  readonly close = (): void => {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    process.off('exit', this.close)
    this.#output.off('resize', this.#onResize)
    this.#input.off('keypress', this.#onKeypress)
    // The terminal may be closed already.
    if (!this.#input.destroyed) this.#input.setRawMode(false)
    this.#input.pause()
    if (this.#input !== process.stdin) this.#input.destroy()
    this.#output.write(LEAVE)
  }

  /** Writes only the lines that changed. */
  show(lines: readonly string[]): void {
    if (this.#state === 'closed') return
    const changes = changedLines(this.#shown, lines)
    this.#shown = lines
    if (changes !== '') this.#output.write(changes)
  }

  /** Copies to the clipboard of the terminal, also over ssh. */
  copy(text: string): void {
    this.#output.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`)
  }

  readonly #onKeypress = (text: string | undefined, key: Key): void => {
    this.#listener.key(keyName(text, key))
  }

  readonly #onResize = (): void => {
    this.#shown = []
    this.#output.write('\x1b[2J')
    this.#listener.resized(this.size)
  }
}

function openKeyboard(): ReadStream {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'))
  } catch (error) {
    throw new Error('the interactive view needs a keyboard: use --raw', { cause: error })
  }
}

export function changedLines(before: readonly string[], after: readonly string[]): string {
  return after.map((line, at) => (line === before[at] ? '' : `\x1b[${at + 1};1H${line}`)).join('')
}

/** The name of a key: `up`, `ctrl-c`, or the character that it types. */
export function keyName(text: string | undefined, key: Key): string {
  if (key.ctrl === true) return `ctrl-${key.name}`
  if (key.name !== undefined && (key.name.length > 1 || text === undefined)) return key.name
  return text ?? ''
}
