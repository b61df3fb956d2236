// gwctl proxy profile: requests a CPU or heap profile and writes it to a file for go tool pprof.

import { existsSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { adminAddress, optionValue, refusalText, sendAdminRequest } from './admin-client.ts'
import type { AdminAddress } from './admin-client.ts'
import type { Invocation } from './gwctl-commands.ts'
import { fileTimestamp } from './print-output.ts'

type ProfileKind = 'cpu' | 'heap'

const DEFAULT_SECONDS = 30
const MAX_SECONDS = 300
/** Milliseconds that the response may take after the end of the profile. */
const CPU_GRACE = 10_000
const HEAP_TIMEOUT = 30_000
const COUNTDOWN_WIDTH = 24
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])

export async function profileCpu(invocation: Invocation): Promise<void> {
  const seconds = secondsOption(invocation)
  const query = [`seconds=${seconds}`, ...workerQuery(invocation)]
  const address = await adminAddress(invocation)
  const file = outputFile(invocation, 'cpu')
  const stopCountdown = startCountdown(seconds)
  const path = `/debug/pprof/profile?${query.join('&')}`
  const profile = await fetchProfile(address, 'cpu', path, seconds * 1_000 + CPU_GRACE).finally(
    stopCountdown,
  )
  writeProfile(file, profile, 'cpu')
}

export async function profileHeap(invocation: Invocation): Promise<void> {
  const path = ['/debug/pprof/heap', ...workerQuery(invocation)].join('?')
  const address = await adminAddress(invocation)
  const file = outputFile(invocation, 'heap')
  writeProfile(file, await fetchProfile(address, 'heap', path, HEAP_TIMEOUT), 'heap')
}

function secondsOption(invocation: Invocation): number {
  const text = optionValue(invocation, 'seconds') ?? String(DEFAULT_SECONDS)
  const seconds = Number(text)
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > MAX_SECONDS)
    throw new Error(`invalid --seconds ${text}; must be between 1 and ${MAX_SECONDS}`)
  return seconds
}

/** The query parameter that selects one process. */
function workerQuery(invocation: Invocation): string[] {
  const worker = optionValue(invocation, 'worker')
  if (worker === undefined) return []
  if (!/^(?:[1-9]\d*|supervisor)$/.test(worker))
    throw new Error(`invalid --worker ${worker}; must be a number or supervisor`)
  return [`worker=${worker}`]
}

/** A file with a generated name is never overwritten; a file that the user named is. */
function outputFile(invocation: Invocation, kind: ProfileKind): string {
  const named = optionValue(invocation, 'output')
  if (named !== undefined) return named
  const file = `gateway-${kind}-${fileTimestamp(new Date())}.pb.gz`
  if (existsSync(file)) throw new Error(`${file} already exists: choose another file with -o`)
  return file
}

async function fetchProfile(
  address: AdminAddress,
  kind: ProfileKind,
  path: string,
  timeout: number,
): Promise<Buffer> {
  const { status, statusText, body } = await sendAdminRequest(address, {
    method: 'GET',
    path,
    timeout,
  })
  if (status === 200) return body
  const isMissing = status === 404 && !path.includes('worker=')
  const hint = isMissing && kind === 'cpu' ? ' (CPU profiles are available on Linux only)' : ''
  throw new Error(`${kind} profile returned ${statusText}: ${refusalText(body)}${hint}`)
}

/** The file is always gzipped; the gateway may have sent it gzipped already. */
function writeProfile(file: string, profile: Buffer, kind: ProfileKind): void {
  const isGzipped = profile.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)
  try {
    writeFileSync(file, isGzipped ? profile : gzipSync(profile))
  } catch (error) {
    const { message } = error as Error
    throw new Error(`failed to write ${kind} profile: ${message}`, { cause: error })
  }
  process.stdout.write(`Wrote ${kind} profile to ${file}\n`)
}

/** Shows the remaining seconds on a terminal; returns the function that ends it. */
function startCountdown(seconds: number): () => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  let left = seconds
  const show = (): void =>
    void stderr.write(`\r${`profiling, ${left} s left`.padEnd(COUNTDOWN_WIDTH)}`)
  show()
  const timer = setInterval(() => {
    left = Math.max(0, left - 1)
    show()
  }, 1_000)
  return () => {
    clearInterval(timer)
    stderr.write(`\r${' '.repeat(COUNTDOWN_WIDTH)}\r`)
  }
}
