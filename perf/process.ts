// Child processes of a run: started on a core, measured through /proc, ended by their id.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const START_DEADLINE_MS = 10_000
const STOP_DEADLINE_MS = 2_000
const START_TRIES = 3
/** A process that uses no CPU for this long is at rest. */
const REST_MS = 300
const REST_DEADLINE_MS = 10_000
const OPEN_FILES = 65_536
/** USER_HZ: the unit of the times in /proc, 100 on every Linux that Node runs on. */
const MICROS_PER_TICK = 10_000

/** The proxy has core 0 to itself; load, backend and this process share the others. */
export const PROXY_CORE = '0'
const cores = availableParallelism()
export const ALL_CORES = `0-${cores - 1}`
const canPin = cores > 1 && found('taskset')
const LOAD_CORES = cores > 2 ? `1-${cores - 1}` : '1'
/** Lets the kernel end a child whose parent was killed outright and could not do it. */
const PREFIX = found('setpriv') ? 'setpriv --pdeathsig KILL ' : ''
const STDERR_TAIL = 2000

export const PINNING = canPin
  ? `proxy on core ${PROXY_CORE}, load and backend on core ${LOAD_CORES}`
  : 'not pinned (taskset or a second core is missing)'

const running = new Set<ChildProcess>()

export function found(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

/** Moves this process, and with it every child that is not pinned elsewhere, off the proxy's core. */
export function leaveProxyCore(): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', LOAD_CORES, String(process.pid)])
}

/** A command that a peer starts, pinned to another core than the peer's. */
export function onLoadCores(argv: readonly string[]): readonly string[] {
  return canPin ? ['taskset', '-c', LOAD_CORES, ...argv] : argv
}

/** A command that may run on any core. */
export function onAllCores(argv: readonly string[]): readonly string[] {
  return canPin ? ['taskset', '-c', ALL_CORES, ...argv] : argv
}

/** Processor time of the children that have ended so far. */
export function childrenMicros(): number {
  const fields = statOf(process.pid)
  return (Number(fields[13]) + Number(fields[14])) * MICROS_PER_TICK
}

/** The fields of /proc/<pid>/stat after the process name, which may contain spaces. */
function statOf(pid: number | undefined): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Ends running children when this process ends for any reason. */
export function endChildrenAtExit(): void {
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL')
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(1))
  }
}

/** CPU time in microseconds: of the program alone, and including the kernel. */
export type Cpu = { user: number; total: number }

/** A server started by this run, listening on its own port of 127.0.0.1. */
export class Running {
  readonly port: number
  readonly #child: ChildProcess

  constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  /** Processor time used so far, user and system, all threads. */
  cpu(): Cpu {
    const fields = statOf(this.#child.pid)
    const user = Number(fields[11]) * MICROS_PER_TICK
    return { user, total: user + Number(fields[12]) * MICROS_PER_TICK }
  }

  rssKib(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'latin1')
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN)
  }

  /** Waits until the work after a start is done, at most until a deadline. */
  async atRest(): Promise<void> {
    const until = Date.now() + REST_DEADLINE_MS
    for (let before = Number.NaN; Date.now() < until;) {
      const { total } = this.cpu()
      if (total === before) return
      before = total
      await sleep(REST_MS)
    }
  }

  async stop(): Promise<void> {
    await stop(this.#child)
  }
}

/** Starts `argv(port)` on a free port and waits until it listens; another port if it fails. */
export async function start(
  argv: (port: number) => readonly string[],
  core: string | undefined,
): Promise<Running> {
  let failure: unknown
  for (let attempt = 0; attempt < START_TRIES; attempt++) {
    const port = await freePort()
    const child = launch(argv(port), core)
    try {
      await listening(child, port)
      return new Running(child, port)
    } catch (error) {
      failure = error
      await stop(child)
    }
  }
  throw failure
}

function launch(argv: readonly string[], core: string | undefined): ChildProcess {
  const pin = canPin && core !== undefined ? `taskset -c ${core} ` : ''
  const limit = `ulimit -n ${OPEN_FILES} 2>/dev/null || ulimit -n $(ulimit -H -n)`
  // `exec` in every step, so that the child's pid is that of the program.
  const child = spawn('sh', ['-c', `${limit}; exec ${PREFIX}${pin}"$@"`, 'sh', ...argv], {
    env: { ...process.env, ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  running.add(child)
  child.on('exit', () => running.delete(child))
  return child
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_TAIL)
  })
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(/^.*error.*$/im.exec(said)?.[0] ?? 'it ended at start')
    }
    if (await answers(port)) return
    await sleep(50)
  }
  throw new Error(`port ${port} was not listened on within ${START_DEADLINE_MS} ms`)
}

async function answers(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
  await ended
  clearTimeout(timer)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
