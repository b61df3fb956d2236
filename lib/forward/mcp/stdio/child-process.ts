// The link of one session to a target that is a child process speaking MCP on stdin and stdout.

import { isUtf8 } from 'node:buffer'
import { bytesInFlight } from '../../../core/byte-budgets.ts'
import type { Log, LogValue } from '../../../core/log.ts'
import { describeInvalidJson, findJsonValue, listItems } from '../../../text/json-scan.ts'
import { findAnsweredNumber, RPC_CODES, RpcMessage } from '../json-rpc.ts'
import { describeInvalidResponse } from '../target-link.ts'
import type { OutgoingMessage, TargetLink, TargetLinkOwner } from '../target-link.ts'
import { ChildStderr } from './child-stderr.ts'
import { ChildTermination } from './end-child.ts'
import type { GracePeriods } from './end-child.ts'
import { LineSplitter } from './line-splitter.ts'
import type { LineOwner } from './line-splitter.ts'
import { ChildSecrets, findChildCredentials } from './start-child.ts'
import type { StartedProcess, StdioTarget } from './start-child.ts'

/** Bytes that may wait in a child's stdin; above this, requests fail and notifications are dropped. */
export const MAX_STDIN_BYTES = 4_194_304

/** `starting`: no message yet. `ending`: it was asked to end, or has exited while its descendants still run. */
type McpChildProcessState = 'starting' | 'running' | 'ending' | 'ended'

const CHILD_PROCESS_TRANSITIONS: Record<McpChildProcessState, readonly McpChildProcessState[]> = {
  starting: ['running', 'ending', 'ended'],
  running: ['ending', 'ended'],
  ending: ['ended'],
  ended: [],
}

/** Keeps account of all child processes. */
export interface ChildProcessOwner {
  readonly log: Log
  readonly gracePeriods: GracePeriods
  readonly maxMessageBytes: number
  /** Called once: the process group is gone, or could not be killed. */
  ended(child: McpChildProcess): void
}

const NEWLINE = Buffer.from('\n')

/** Half of Node's read buffer: after such a read, more data is likely waiting. */
const BIG_READ_BYTES = 32_768

export class McpChildProcess implements TargetLink, LineOwner {
  readonly target: string
  readonly pid: number
  readonly session: object
  /** Identifies the session in the log. */
  readonly label: string
  /** On the clock of `performance.now()`. */
  readonly since = performance.now()
  /** How the process ended; both are null while it runs. */
  exitCode: number | null = null
  exitSignal: NodeJS.Signals | null = null
  readonly #childOwner: ChildProcessOwner
  readonly #config: StdioTarget
  readonly #process: StartedProcess
  readonly #termination: ChildTermination
  readonly #lines: LineSplitter
  readonly #stderr: ChildStderr
  readonly #unreadableLines: RepeatedWarning
  readonly #undelivered: RepeatedWarning
  /** null once `closed` was called or is scheduled. */
  #owner: TargetLinkOwner | null
  #state: McpChildProcessState = 'starting'
  #reading: 'flowing' | 'paused' = 'flowing'
  #output: 'open' | 'closed' = 'open'
  #leader: 'running' | 'exited' = 'running'
  /** Why the link breaks once its output is read; empty while it works. */
  #reason = ''
  #drain: NodeJS.Timeout | undefined
  /** Unread stdin bytes that are counted in `bytesInFlight`. */
  #countedBytes = 0

  constructor(
    childOwner: ChildProcessOwner,
    target: StdioTarget,
    process: StartedProcess,
    owner: TargetLinkOwner,
  ) {
    this.target = target.name
    this.pid = process.pid
    this.#childOwner = childOwner
    this.#config = target
    this.#process = process
    this.#owner = owner
    this.session = owner.session
    this.label = owner.label
    const logFields: LogValue[] = [
      'target',
      target.name,
      'pid',
      process.pid,
      'mcp.session.id',
      owner.label,
    ]
    this.#lines = new LineSplitter(this, childOwner.maxMessageBytes)
    this.#stderr = new ChildStderr(childOwner.log, logFields, new ChildSecrets(target))
    this.#unreadableLines = new RepeatedWarning(
      childOwner.log,
      'child printed a line that is not a JSON-RPC message',
      logFields,
    )
    this.#undelivered = new RepeatedWarning(
      childOwner.log,
      'notification dropped: child does not read its stdin',
      logFields,
    )
    this.#termination = new ChildTermination(process.pid, childOwner.gracePeriods, () =>
      this.#allExited(),
    )
    this.#attach()
  }

  get state(): McpChildProcessState {
    return this.#state
  }

  /** The last lines of its stderr. */
  lastStderr(lines?: number): string[] {
    return this.#stderr.last(lines)
  }

  send(message: OutgoingMessage): void {
    if (this.#owner === null) return
    const { bytes, number, traced } = message
    const { stdin } = this.#process
    traced?.writtenToChild(bytes, findChildCredentials(this.#config))
    if (stdin.writableLength > MAX_STDIN_BYTES) return this.#refuse(message)
    const isFlushed = stdin.write(Buffer.concat([bytes, NEWLINE], bytes.length + 1))
    if (!isFlushed) this.#countUnread(stdin.writableLength)
    if (number === 0) traced?.acceptedByChild()
  }

  forgetRequest(): void {}

  listen(): void {}

  /** Data that was already read is still delivered: at most the rest of one read. */
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
    this.#detachOwner('was stopped')
  }

  /** Kills the whole process group at once. */
  kill(): void {
    this.#termination.kill()
  }

  line(bytes: Buffer): void {
    visitOutputLine(bytes, (message, itemBytes) => {
      if (typeof message === 'string') return this.#reject(itemBytes, message)
      if (this.#state === 'starting') this.#move('running')
      this.#owner?.received(message, 0)
    })
  }

  tooLong(): void {
    const limit = `${this.#childOwner.maxMessageBytes} bytes (config.mcp.maxMessageBytes)`
    this.#detachOwner(`sent a message above ${limit}`)
  }

  #attach(): void {
    const { stdin, stdout, stderr } = this.#process
    this.#process.once('exit', (code, signal) => this.#exited(code, signal))
    // Node emits 'error' instead of 'exit' if the system could not report how the process ended.
    this.#process.on('error', () => this.#exited(null, null))
    stdin.on('error', () => this.#break('closed its standard input'))
    stdin.on('drain', () => this.#countUnread(0)).once('close', () => this.#countUnread(0))
    stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    // 'close' follows a failed read.
    stdout.on('error', () => {}).once('close', () => this.#outputClosed())
    stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    stderr.on('error', () => {}).once('close', () => this.#stderr.end())
  }

  #countUnread(bytes: number): void {
    bytesInFlight.unsent += bytes - this.#countedBytes
    this.#countedBytes = bytes
  }

  #read(chunk: Buffer): void {
    if (this.#reading === 'flowing') {
      if (chunk.length >= BIG_READ_BYTES) this.#yieldToOthers()
      return this.#lines.push(chunk)
    }
    // When a process exits, Node resumes its stdout even if it was paused.
    this.#process.stdout.pause()
    this.#process.stdout.unshift(chunk)
  }

  /** A child with endless output must not starve the others: Node would read on in the same event loop turn. */
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
    if (this.#leader === 'exited') return
    this.#leader = 'exited'
    this.exitCode = code
    this.exitSignal = signal
    // More precise than a broken pipe, even if that was reported first.
    this.#reason = signal === null ? `exited with code ${code}` : `was killed by ${signal}`
    this.#break(this.#reason)
    this.#termination.leaderExited()
    if (this.#state !== 'ended') this.#beginTermination()
  }

  /** The link is broken. Its output is read first, within a grace: a descendant may hold the pipe open. */
  #break(reason: string): void {
    if (this.#owner === null) return
    this.#reason ||= reason
    if (this.#leader === 'exited' && this.#output === 'closed')
      return this.#detachOwner(this.#reason)
    if (this.#reading === 'paused') return
    // After a stall of our process, the timer fires before the pipe was polled: setImmediate polls it once more.
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

  /** Closes the link for its owner; the output is still read so that the child can end. */
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

  /** A descendant in another process group may hold the pipes open for ever, so they are destroyed after a grace. */
  #release(): void {
    const { stdin, stdout, stderr } = this.#process
    const timer = setTimeout(() => {
      for (const pipe of [stdin, stdout, stderr]) pipe.destroy()
    }, this.#childOwner.gracePeriods.drain).unref()
    this.#process.once('close', () => clearTimeout(timer))
  }

  /** Ends the call that an invalid message answers: no other answer will come. */
  #reject(bytes: Buffer, why: string): void {
    this.#unreadableLines.add(['bytes', bytes.length, 'reason', why])
    const number = findAnsweredNumber(bytes)
    if (number === 0) return
    const reason = describeInvalidResponse(this.target, why)
    this.#owner?.failed(number, reason, null, RPC_CODES.internal)
  }

  #refuse({ bytes, number, traced }: OutgoingMessage): void {
    const reason = `target '${this.target}' does not read its stdin: ${MAX_STDIN_BYTES} bytes wait`
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

const OPEN_BRACKET = 0x5b

/** Visits the message or the batch (2025-03-26) of a line; for bytes that are not a message, the reason. */
function visitOutputLine(
  line: Buffer,
  visit: (message: RpcMessage | string, bytes: Buffer) => void,
): void {
  let bytes = line
  let whole = findJsonValue(bytes)
  // Invalid UTF-8 is an error of the server, but the client still needs the answer.
  if (whole === null && !isUtf8(bytes)) {
    bytes = Buffer.from(bytes.toString('utf8'))
    whole = findJsonValue(bytes)
  }
  if (whole === null) return visit(describeInvalidJson(bytes), line)
  if (bytes[whole.from] !== OPEN_BRACKET) return visit(RpcMessage.parseAt(bytes, whole), line)
  for (const item of listItems(bytes, whole))
    visit(RpcMessage.parseAt(bytes, item), bytes.subarray(item.from, item.to))
}

/** Warnings of one kind that are logged one by one. */
const MAX_LOGGED_EACH = 10

/** Logs the first warnings of a kind one by one, and the number of the others at the end. */
class RepeatedWarning {
  readonly #log: Log
  readonly #message: string
  readonly #logFields: readonly LogValue[]
  #count = 0

  constructor(log: Log, message: string, logFields: readonly LogValue[]) {
    this.#log = log
    this.#message = message
    this.#logFields = logFields
  }

  add(fields: readonly LogValue[]): void {
    if (++this.#count > MAX_LOGGED_EACH) return
    const last = this.#count === MAX_LOGGED_EACH ? ['more', 'counted until the end'] : []
    this.#log.write('warn', 'mcp', this.#message, [...this.#logFields, ...fields, ...last])
  }

  /** Logs the number of the warnings that were not logged one by one. */
  end(): void {
    const unlogged = this.#count - MAX_LOGGED_EACH
    if (unlogged > 0)
      this.#log.write('warn', 'mcp', this.#message, [...this.#logFields, 'untold', unlogged])
  }
}
