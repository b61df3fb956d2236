// A child process that speaks MCP on its standard input and output, as one session's link to a target.

import { inFlight } from '../../../base/bounds/in-flight.ts'
import type { Log, Value } from '../../../base/log/log.ts'
import type { Link, LinkOwner, Outgoing } from '../types.ts'
import { Ending } from './ending.ts'
import type { Graces } from './ending.ts'
import { KnownValues } from './known-values.ts'
import { Lines } from './lines.ts'
import type { LineOwner } from './lines.ts'
import { messagesIn } from './messages-in.ts'
import type { Started, StdioTarget } from './start.ts'
import { Stderr } from './stderr.ts'
import { Tally } from './tally.ts'

/** Bytes that wait for a child to read them; while there are more, requests fail and notifications are dropped. */
export const MAX_STDIN_BYTES = 4_194_304

/** `starting`: it has not said a word yet. `ending`: it was asked to end, or has exited and left others behind. */
type ChildState = 'starting' | 'running' | 'ending' | 'ended'

const MOVES: Record<ChildState, readonly ChildState[]> = {
  starting: ['running', 'ending', 'ended'],
  running: ['ending', 'ended'],
  ending: ['ended'],
  ended: [],
}

/** Who keeps account of the children. */
export interface ChildHome {
  readonly log: Log
  readonly graces: Graces
  readonly maxMessageBytes: number
  /** Nothing of it runs any more, or nothing that could be ended. Once for each child. */
  ended(child: Child): void
}

const NEWLINE = Buffer.from('\n')

/** A read that fills its buffer by half: there is more where it came from. */
const BIG_READ_BYTES = 32_768

export class Child implements Link, LineOwner {
  readonly target: string
  readonly pid: number
  /** Its session, for the log. */
  readonly label: string
  /** On the clock of `performance.now()`. */
  readonly since = performance.now()
  /** How the process itself ended; both are null until it has. */
  exitCode: number | null = null
  exitSignal: NodeJS.Signals | null = null
  readonly #home: ChildHome
  readonly #process: Started
  readonly #ending: Ending
  readonly #lines: Lines
  readonly #stderr: Stderr
  readonly #strange: Tally
  readonly #unsent: Tally
  /** null once `closed` was told, or is about to be. */
  #owner: LinkOwner | null
  #state: ChildState = 'starting'
  #reading: 'flowing' | 'paused' = 'flowing'
  #output: 'open' | 'closed' = 'open'
  #leader: 'here' | 'gone' = 'here'
  /** What the link breaks with, once its output is read; '' while it stands. */
  #reason = ''
  #drain: NodeJS.Timeout | undefined
  /** What is counted as waiting for it. */
  #weight = 0

  constructor(home: ChildHome, target: StdioTarget, process: Started, owner: LinkOwner) {
    this.target = target.name
    this.pid = process.pid
    this.#home = home
    this.#process = process
    this.#owner = owner
    this.label = owner.label
    const whose: Value[] = [
      'target',
      target.name,
      'pid',
      process.pid,
      'mcp.session.id',
      owner.label,
    ]
    this.#lines = new Lines(this, home.maxMessageBytes)
    this.#stderr = new Stderr(home.log, whose, new KnownValues(target))
    this.#strange = new Tally(home.log, 'a line of a child is no message', whose)
    this.#unsent = new Tally(home.log, 'a child does not read: notification dropped', whose)
    this.#ending = new Ending(process.pid, home.graces, () => this.#over())
    this.#attach()
  }

  get state(): ChildState {
    return this.#state
  }

  /** What it said last on its standard error. */
  lastStderr(lines?: number): string[] {
    return this.#stderr.last(lines)
  }

  send(message: Outgoing): void {
    if (this.#owner === null) return
    const { bytes, number, traced } = message
    const { stdin } = this.#process
    traced?.written(bytes)
    if (stdin.writableLength > MAX_STDIN_BYTES) return this.#refuse(message)
    const isTaken = stdin.write(Buffer.concat([bytes, NEWLINE], bytes.length + 1))
    if (!isTaken) this.#weigh(stdin.writableLength)
    if (number === 0) traced?.taken()
  }

  forget(): void {}

  listen(): void {}

  /** What was read before still comes: at most the rest of one read. */
  pause(): void {
    if (this.#owner === null) return
    this.#reading = 'paused'
    this.#process.stdout.pause()
    clearTimeout(this.#drain)
    this.#drain = undefined
  }

  resume(): void {
    if (this.#reading === 'flowing') return
    this.#reading = 'flowing'
    this.#process.stdout.resume()
    if (this.#reason !== '') this.#break(this.#reason)
  }

  close(): void {
    this.#leave('was ended')
  }

  /** At once, with its whole group. */
  kill(): void {
    this.#ending.kill()
  }

  line(bytes: Buffer): void {
    for (const message of messagesIn(bytes)) {
      if (typeof message === 'string') this.#strange.add(['bytes', bytes.length, 'reason', message])
      else {
        if (this.#state === 'starting') this.#move('running')
        this.#owner?.received(message, 0)
      }
    }
  }

  tooLong(): void {
    const limit = `${this.#home.maxMessageBytes} bytes (config.mcp.maxMessageBytes)`
    this.#leave(`sent a message above ${limit}`)
  }

  #attach(): void {
    const { stdin, stdout, stderr } = this.#process
    this.#process.once('exit', (code, signal) => this.#exited(code, signal))
    // Node has it instead of 'exit' where the system could not tell how the process ended.
    this.#process.on('error', () => this.#exited(null, null))
    stdin.on('error', () => this.#break('closed its standard input'))
    stdin.on('drain', () => this.#weigh(0)).once('close', () => this.#weigh(0))
    stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    // What follows a failed read is 'close'.
    stdout.on('error', () => {}).once('close', () => this.#outputClosed())
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    stderr.on('error', () => {}).once('close', () => this.#stderr.end())
  }

  /** What it has not read. */
  #weigh(bytes: number): void {
    inFlight.unsent += bytes - this.#weight
    this.#weight = bytes
  }

  #read(chunk: Buffer): void {
    if (this.#reading === 'flowing') {
      if (chunk.length >= BIG_READ_BYTES) this.#breathe()
      return this.#lines.push(chunk)
    }
    // When a process exits, Node resumes its output, paused or not.
    this.#process.stdout.pause()
    this.#process.stdout.unshift(chunk)
  }

  /** One that talks without end must not keep the others waiting: node would read on within the same turn. */
  #breathe(): void {
    const { stdout } = this.#process
    stdout.pause()
    setImmediate(() => {
      if (this.#reading === 'flowing') stdout.resume()
    })
  }

  #outputClosed(): void {
    this.#output = 'closed'
    this.#lines.end()
    this.#break('closed its standard output')
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#leader === 'gone') return
    this.#leader = 'gone'
    this.exitCode = code
    this.exitSignal = signal
    // It says more than which pipe broke, even where that was heard of first.
    this.#reason = signal === null ? `exited with code ${code}` : `was killed by ${signal}`
    this.#break(this.#reason)
    this.#ending.leaderGone()
    if (this.#state !== 'ended') this.#toEnding()
  }

  /** The link cannot last. What the child said is read first, but something it started may hold its output open. */
  #break(reason: string): void {
    if (this.#owner === null) return
    this.#reason ||= reason
    if (this.#leader === 'gone' && this.#output === 'closed') return this.#leave(this.#reason)
    if (this.#reading === 'paused') return
    // When our own process was held up, the time is over before the pipe was looked at: hence once more.
    this.#drain ??= setTimeout(() => setImmediate(() => this.#drained()), this.#home.graces.drain)
  }

  #drained(): void {
    if (this.#reading === 'paused') return
    this.#lines.end()
    this.#leave(this.#reason)
  }

  /** The owner hears no more but this; the child is read on, so that it can end. */
  #leave(reason: string): void {
    const owner = this.#owner
    if (owner === null) return
    this.#owner = null
    clearTimeout(this.#drain)
    this.#lines.stop()
    this.resume()
    setImmediate(() => owner.closed(`target '${this.target}' ${reason}`))
    if (this.#state === 'ended') return this.#release()
    this.#toEnding()
    this.#process.stdin.end()
    this.#ending.ask()
  }

  #toEnding(): void {
    if (this.#state !== 'ending') this.#move('ending')
  }

  #over(): void {
    this.#move('ended')
    this.#strange.end()
    this.#unsent.end()
    this.#process.unref()
    if (this.#owner === null) this.#release()
    this.#home.ended(this)
  }

  /** Nobody of its group is left, but one that made a group of its own may hold the pipes for ever. */
  #release(): void {
    const { stdin, stdout, stderr } = this.#process
    const timer = setTimeout(() => {
      for (const pipe of [stdin, stdout, stderr]) pipe.destroy()
    }, this.#home.graces.drain).unref()
    this.#process.once('close', () => clearTimeout(timer))
  }

  #refuse({ bytes, number, traced }: Outgoing): void {
    const reason = `target '${this.target}' does not read: ${MAX_STDIN_BYTES} bytes wait for it`
    traced?.failed(reason)
    if (number === 0) return this.#unsent.add(['bytes', bytes.length])
    const owner = this.#owner
    queueMicrotask(() => owner?.failed(number, reason, null))
  }

  #move(to: ChildState): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`child: ${this.#state} → ${to}`)
    this.#state = to
  }
}
