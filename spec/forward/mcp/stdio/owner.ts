// Replaces a session in specs of child processes: records the messages of a link, and the log.

import { existsSync, readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import type { McpLimits } from '../../../../lib/core/bounds.ts'
import { Log } from '../../../../lib/core/log.ts'
import type { RpcMessage } from '../../../../lib/forward/mcp/json-rpc.ts'
import { McpChildProcess } from '../../../../lib/forward/mcp/stdio/child-process.ts'
import { ChildProcesses } from '../../../../lib/forward/mcp/stdio/child-processes.ts'
import type { GracePeriods } from '../../../../lib/forward/mcp/stdio/end-child.ts'
import type { StdioTarget } from '../../../../lib/forward/mcp/stdio/start-child.ts'
import type { TargetLinkOwner, OutgoingMessage } from '../../../../lib/forward/mcp/target-link.ts'
import { childFile } from '../../../support/children/child-file.ts'
import { deadline } from '../../../support/deadline.ts'

const WAIT_MS = 30_000
const POLL_MS = 10

/** Short for quick specs, but long enough that a cooperative child is not killed. */
export const QUICK: GracePeriods = { stdin: 300, term: 300, drain: 300 }

/** Grace periods longer than any spec: a cooperative child is never signalled. */
export const NEVER: GracePeriods = { stdin: 600_000, term: 600_000, drain: 300 }

export class Owner implements TargetLinkOwner {
  readonly session = {}
  readonly label = 'spec'
  readonly messages: string[] = []
  readonly failures: [number: number, reason: string][] = []
  readonly ends: string[] = []
  /** Called for each message. */
  onMessage: (() => void) | null = null

  received(message: RpcMessage): void {
    this.messages.push(message.bytes.toString('utf8'))
    this.onMessage?.()
  }

  failed(number: number, reason: string): void {
    this.failures.push([number, reason])
  }

  closed(reason: string): void {
    this.ends.push(reason)
  }

  expired(): void {
    throw new Error('a child knows no sessions')
  }

  /** The parsed `params` of the messages so far. */
  get params(): Record<string, unknown>[] {
    return this.messages.map(
      (text) => (JSON.parse(text) as { params: Record<string, unknown> }).params,
    )
  }

  async messageCount(least: number): Promise<void> {
    await until(() => this.messages.length >= least, `message ${least}`)
  }

  /** The reason of `closed`. */
  async end(): Promise<string> {
    await until(() => this.ends.length > 0, 'the end of a link')
    return this.ends[0]!
  }
}

/** The children of one spec, and their log. */
export class ChildHarness {
  log = ''
  /** The owners of all links that were opened. */
  readonly pids: number[] = []
  readonly children: ChildProcesses

  constructor(limits: Partial<McpLimits> = {}, graces: GracePeriods = QUICK) {
    const log = new Log({
      level: 'info',
      format: 'text',
      write: (text, done) => {
        this.log += text
        done()
      },
    })
    this.children = new ChildProcesses(
      { maxChildren: 8, maxMessageBytes: 1e6, ...limits },
      log,
      graces,
    )
  }

  /** Starts the child of `prompt.ts`. */
  open(owner: TargetLinkOwner, ...args: readonly string[]): McpChildProcess {
    return this.run(owner, targetOf('faults', args))
  }

  run(owner: TargetLinkOwner, target: StdioTarget): McpChildProcess {
    const link = this.children.open(target, owner)
    if (!(link instanceof McpChildProcess)) throw new Error(`no child: ${JSON.stringify(link)}`)
    this.pids.push(link.pid)
    return link
  }

  async logged(text: string | RegExp): Promise<void> {
    const fits = (): boolean =>
      typeof text === 'string' ? this.log.includes(text) : text.test(this.log)
    await until(fits, `${String(text)} in the log`)
  }

  async close(): Promise<void> {
    await deadline(this.children.closeAll(), WAIT_MS, 'the end of all children')
  }
}

export function targetOf(file: string, args: readonly string[] = []): StdioTarget {
  return {
    name: 'one',
    kind: 'stdio',
    cmd: process.execPath,
    args: [childFile(file), ...args],
    env: {},
    clearEnv: false,
    inheritEnv: false,
  }
}

/** An outgoing request whose number is its id. */
export function request(number: number, method = 'ping', params = '{}'): OutgoingMessage {
  const text = `{"jsonrpc":"2.0","id":${number},"method":"${method}","params":${params}}`
  return { bytes: Buffer.from(text), number, fields: [] }
}

type FamilyTest = (
  name: string,
  body: (harness: ChildHarness) => Promise<void>,
  limits?: Partial<McpLimits>,
  graces?: GracePeriods,
) => void

/** Tests that each have their own children, and check that none is left afterwards. */
export function familyTests(suite: (name: string, body: () => Promise<void>) => void): FamilyTest {
  return (name, body, limits = {}, graces = QUICK) => {
    suite(name, async () => {
      const harness = new ChildHarness(limits, graces)
      try {
        await body(harness)
      } finally {
        await harness.close()
      }
      assert.is(harness.children.count, 0)
      for (const pid of harness.pids) assert.not(isRunning(pid), `${pid} is left`)
    })
  }
}

/** Polls for a state that has no event. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const latest = performance.now() + WAIT_MS
  while (!holds()) {
    if (performance.now() > latest)
      throw new Error(`timed out after ${WAIT_MS} ms waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Whether a process runs; a zombie does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch (error) {
    // Without /proc, zombies cannot be recognized.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync('/proc/self')
  }
}
