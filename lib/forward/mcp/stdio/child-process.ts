// A child process that speaks MCP on its standard input and output, as one session's link to a target.

import { isUtf8 } from 'node:buffer'
import { bytesInFlight } from '../../../core/byte-budgets.ts'
import type { Log, LogValue } from '../../../core/log.ts'
import { findJsonValue, listItems } from '../../../text/json-scan.ts'
import { RpcMessage } from '../json-rpc.ts'
import type { OutgoingMessage, TargetLink, TargetLinkOwner } from '../target-link.ts'
import { ChildStderr } from './child-stderr.ts'
import { ChildTermination } from './end-child.ts'
import type { GracePeriods } from './end-child.ts'
import { LineSplitter } from './line-splitter.ts'
import type { LineOwner } from './line-splitter.ts'
import { ChildSecrets } from './start-child.ts'
import type { StartedProcess, StdioTarget } from './start-child.ts'

/** Bytes that wait for a child to read them; while there are more, requests fail and notifications are dropped. */
export const MAX_STDIN_BYTES = 4_194_304

/** `starting`: it has not said a word yet. `ending`: it was asked to end, or has exited and left others behind. */
type McpChildProcessState = 'starting' | 'running' | 'ending' | 'ended'

const CHILD_PROCESS_TRANSITIONS: Record<McpChildProcessState, readonly McpChildProcessState[]> = {
  starting: ['running', 'ending', 'ended'],
  running: ['ending', 'ended'],
  ending: ['ended'],
  ended: [],
}

/** Who keeps account of the children. */
export interface ChildProcessOwner {
  readonly log: Log
  readonly gracePeriods: GracePeriods
  readonly maxMessageBytes: number
  /** Nothing of it runs any more, or nothing that could be ended. Once for each child. */
  ended(child: McpChildProcess): void
}

const NEWLINE = Buffer.from('\n')

/** A read that fills its buffer by half: there is more where it came from. */
const BIG_READ_BYTES = 32_768

export class McpChildProcess implements TargetLink, LineOwner {
  readonly target: string
  readonly pid: number
  /** Its session, for the log. */
  readonly label: string
  /** On the clock of `performance.now()`. */
  readonly since = performance.now()
  /** How the process itself ended; both are null until it has. */
  exitCode: number | null = null
  exitSignal: NodeJS.Signals | null = null
  readonly #childOwner: ChildProcessOwner
  readonly #process: StartedProcess
  readonly #termination: ChildTermination
  readonly #lines: LineSplitter
  readonly #stderr: ChildStderr
  readonly #unreadableLines: RepeatedWarning
  readonly #undelivered: RepeatedWarning
  /** null once `closed` was told, or is about to be. */
  #owner: TargetLinkOwner | null
  #state: McpChildProcessState = 'starting'
  #reading: 'flowing' | 'paused' = 'flowing'
  #output: 'open' | 'closed' = 'open'
  #leader: 'here' | 'gone' = 'here'
  /** What the link breaks with, once its output is read; '' while it stands. */
  #reason = ''
  #drain: NodeJS.Timeout | undefined
  /** What is counted as waiting for it. */
  #weight = 0

  constructor(
    home: ChildProcessOwner,
    target: StdioTarget,
    process: StartedProcess,
    owner: TargetLinkOwner,
  ) {
    this.target = target.name
    this.pid = process.pid
    this.#childOwner = home
    this.#process = process
    this.#owner = owner
    this.label = owner.label
    const whose: LogValue[] = [
      'target',
      target.name,
      'pid',
      process.pid,
      'mcp.session.id',
      owner.label,
    ]
    this.#lines = new LineSplitter(this, home.maxMessageBytes)
    this.#stderr = new ChildStderr(home.log, whose, new ChildSecrets(target))
    this.#unreadableLines = new RepeatedWarning(home.log, 'a line of a child is no message', whose)
    this.#undelivered = new RepeatedWarning(
      home.log,
      'a child does not read: notification dropped',
      whose,
    )
    this.#termination = new ChildTermination(process.pid, home.gracePeriods, () =>
      this.#allExited(),
    )
    this.#attach()
  }

  get state(): McpChildProcessState {
    return this.#state
  }

  /** What it said last on its standard error. */
  lastStderr(lines?: number): string[] {
    return this.#stderr.last(lines)
  }

  send(message: OutgoingMessage): void {
    if (this.#owner === null) return
    const { bytes, number, traced } = message
    const { stdin } = this.#process
    traced?.writtenToChild(bytes)
    if (stdin.writableLength > MAX_STDIN_BYTES) return this.#refuse(message)
    const isTaken = stdin.write(Buffer.concat([bytes, NEWLINE], bytes.length + 1))
    if (!isTaken) this.#weigh(stdin.writableLength)
    if (number === 0) traced?.acceptedByChild()
  }

  forgetRequest(): void {}

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
    this.#detachOwner('was ended')
  }

  /** At once, with its whole group. */
  kill(): void {
    this.#termination.kill()
  }

  line(bytes: Buffer): void {
    for (const message of parseOutputLine(bytes)) {
      if (typeof message === 'string')
        this.#unreadableLines.add(['bytes', bytes.length, 'reason', message])
      else {
        if (this.#state === 'starting') this.#move('running')
        this.#owner?.received(message, 0)
      }
    }
  }

  tooLong(): void {
    const limit = `${this.#childOwner.maxMessageBytes} bytes (config.mcp.maxMessageBytes)`
    this.#detachOwner(`sent a message above ${limit}`)
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
    bytesInFlight.unsent += bytes - this.#weight
    this.#weight = bytes
  }

  #read(chunk: Buffer): void {
    if (this.#reading === 'flowing') {
      if (chunk.length >= BIG_READ_BYTES) this.#yieldToOthers()
      return this.#lines.push(chunk)
    }
    // When a process exits, Node resumes its output, paused or not.
    this.#process.stdout.pause()
    this.#process.stdout.unshift(chunk)
  }

  /** One that talks without end must not keep the others waiting: node would read on within the same turn. */
  #yieldToOthers(): void {
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
    this.#termination.leaderExited()
    if (this.#state !== 'ended') this.#beginTermination()
  }

  /** The link cannot last. What the child said is read first, but something it started may hold its output open. */
  #break(reason: string): void {
    if (this.#owner === null) return
    this.#reason ||= reason
    if (this.#leader === 'gone' && this.#output === 'closed') return this.#detachOwner(this.#reason)
    if (this.#reading === 'paused') return
    // When our own process was held up, the time is over before the pipe was looked at: hence once more.
    this.#drain ??= setTimeout(
      () => setImmediate(() => this.#drained()),
      this.#childOwner.gracePeriods.drain,
    )
  }

  #drained(): void {
    if (this.#reading === 'paused') return
    this.#lines.end()
    this.#detachOwner(this.#reason)
  }

  /** The owner hears no more but this; the child is read on, so that it can end. */
  #detachOwner(reason: string): void {
    const owner = this.#owner
    if (owner === null) return
    this.#owner = null
    clearTimeout(this.#drain)
    this.#lines.stop()
    this.resume()
    setImmediate(() => owner.closed(`target '${this.target}' ${reason}`))
    if (this.#state === 'ended') return this.#release()
    this.#beginTermination()
    this.#process.stdin.end()
    this.#termination.inputClosed()
  }

  #beginTermination(): void {
    if (this.#state !== 'ending') this.#move('ending')
  }

  #allExited(): void {
    this.#move('ended')
    this.#unreadableLines.end()
    this.#undelivered.end()
    this.#process.unref()
    if (this.#owner === null) this.#release()
    this.#childOwner.ended(this)
  }

  /** Nobody of its group is left, but one that made a group of its own may hold the pipes for ever. */
  #release(): void {
    const { stdin, stdout, stderr } = this.#process
    const timer = setTimeout(() => {
      for (const pipe of [stdin, stdout, stderr]) pipe.destroy()
    }, this.#childOwner.gracePeriods.drain).unref()
    this.#process.once('close', () => clearTimeout(timer))
  }

  #refuse({ bytes, number, traced }: OutgoingMessage): void {
    const reason = `target '${this.target}' does not read: ${MAX_STDIN_BYTES} bytes wait for it`
    traced?.failed(reason)
    if (number === 0) return this.#undelivered.add(['bytes', bytes.length])
    const owner = this.#owner
    queueMicrotask(() => owner?.failed(number, reason, null))
  }

  #move(to: McpChildProcessState): void {
    if (!CHILD_PROCESS_TRANSITIONS[this.#state].includes(to))
      throw new Error(`child: ${this.#state} → ${to}`)
    this.#state = to
  }
}

// Reads one line of a child's output.

const OPEN_BRACKET = 0x5b

/** Its message, or those of a batch, as 2025-03-26 has them; for each that is none, what is wrong with it. */
function parseOutputLine(line: Buffer): (RpcMessage | string)[] {
  let bytes = line
  let whole = findJsonValue(bytes)
  // A server that prints a file of another encoding is wrong, but its client waits for the answer.
  if (whole === null && !isUtf8(bytes)) {
    bytes = Buffer.from(bytes.toString('utf8'))
    whole = findJsonValue(bytes)
  }
  if (whole === null) return ['not valid JSON']
  if (bytes[whole.from] !== OPEN_BRACKET) return [RpcMessage.parseAt(bytes, whole)]
  return listItems(bytes, whole).map((item) => RpcMessage.parseAt(bytes, item))
}

// Things that go wrong again and again: the first few are told one by one, the others by their number.

/** How many of a kind are told one by one. */
const MAX_LOGGED_EACH = 10

class RepeatedWarning {
  readonly #log: Log
  readonly #message: string
  readonly #logFields: readonly LogValue[]
  #count = 0

  constructor(log: Log, message: string, whose: readonly LogValue[]) {
    this.#log = log
    this.#message = message
    this.#logFields = whose
  }

  add(fields: readonly LogValue[]): void {
    if (++this.#count > MAX_LOGGED_EACH) return
    const last = this.#count === MAX_LOGGED_EACH ? ['more', 'counted until the end'] : []
    this.#log.write('warn', 'mcp', this.#message, [...this.#logFields, ...fields, ...last])
  }

  /** All is over: those that were not told. */
  end(): void {
    const untold = this.#count - MAX_LOGGED_EACH
    if (untold > 0)
      this.#log.write('warn', 'mcp', this.#message, [...this.#logFields, 'untold', untold])
  }
}
