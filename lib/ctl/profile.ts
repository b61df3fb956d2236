// gwctl proxy profile: has the gateway profile itself, and writes what go tool pprof reads.

import { existsSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { ask, told } from './admin.ts'
import { valueOf } from './command.ts'
import type { Call } from './command.ts'
import { fileStamp } from './stamp.ts'
import { targetOf } from './target.ts'
import type { Target } from './target.ts'

type Kind = 'cpu' | 'heap'

const DEFAULT_SECONDS = 30
const MAX_SECONDS = 300
/** What it may take beyond the time that is looked at. */
const CPU_GRACE = 10_000
const HEAP_TIMEOUT = 30_000
const COUNT_WIDTH = 24
const GZIP_MARK = Buffer.from([0x1f, 0x8b])

export async function profileCpu(call: Call): Promise<void> {
  const seconds = secondsOf(call)
  const query = [`seconds=${seconds}`, ...workerIn(call)]
  const target = await targetOf(call)
  const file = fileOf(call, 'cpu')
  const stop = countDown(seconds)
  const path = `/debug/pprof/profile?${query.join('&')}`
  const profile = await fetchProfile(target, 'cpu', path, seconds * 1_000 + CPU_GRACE).finally(stop)
  write(file, profile, 'cpu')
}

export async function profileHeap(call: Call): Promise<void> {
  const path = ['/debug/pprof/heap', ...workerIn(call)].join('?')
  const target = await targetOf(call)
  const file = fileOf(call, 'heap')
  write(file, await fetchProfile(target, 'heap', path, HEAP_TIMEOUT), 'heap')
}

function secondsOf(call: Call): number {
  const text = valueOf(call, 'seconds') ?? String(DEFAULT_SECONDS)
  const seconds = Number(text)
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > MAX_SECONDS)
    throw new Error(`invalid --seconds ${text}; must be between 1 and ${MAX_SECONDS}`)
  return seconds
}

/** Of the query, if one process of several is meant. */
function workerIn(call: Call): string[] {
  const worker = valueOf(call, 'worker')
  if (worker === undefined) return []
  if (!/^(?:[1-9]\d*|supervisor)$/.test(worker))
    throw new Error(`invalid --worker ${worker}; must be a number or supervisor`)
  return [`worker=${worker}`]
}

/** A profile of an hour ago is not overwritten by accident, one that was named is. */
function fileOf(call: Call, kind: Kind): string {
  const named = valueOf(call, 'output')
  if (named !== undefined) return named
  const file = `gateway-${kind}-${fileStamp(new Date())}.pb.gz`
  if (existsSync(file)) throw new Error(`${file} exists already: -o names another file`)
  return file
}

async function fetchProfile(
  target: Target,
  kind: Kind,
  path: string,
  timeout: number,
): Promise<Buffer> {
  const { status, statusText, body } = await ask(target, { method: 'GET', path, timeout })
  if (status === 200) return body
  const isMissing = status === 404 && !path.includes('worker=')
  const hint = isMissing && kind === 'cpu' ? ' (CPU profiles are taken on Linux only)' : ''
  throw new Error(`${kind} profile returned ${statusText}: ${told(body)}${hint}`)
}

/** As its name says, packed: the gateway may have done that already. */
function write(file: string, profile: Buffer, kind: Kind): void {
  const isPacked = profile.subarray(0, GZIP_MARK.length).equals(GZIP_MARK)
  try {
    writeFileSync(file, isPacked ? profile : gzipSync(profile))
  } catch (error) {
    const { message } = error as Error
    throw new Error(`failed to write ${kind} profile: ${message}`, { cause: error })
  }
  process.stdout.write(`Wrote ${kind} profile to ${file}\n`)
}

/** For people who wait; returns what ends it. */
function countDown(seconds: number): () => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  let left = seconds
  const tell = (): void => void stderr.write(`\r${`profiling, ${left} s left`.padEnd(COUNT_WIDTH)}`)
  tell()
  const timer = setInterval(() => {
    left = Math.max(0, left - 1)
    tell()
  }, 1_000)
  return () => {
    clearInterval(timer)
    stderr.write(`\r${' '.repeat(COUNT_WIDTH)}\r`)
  }
}
