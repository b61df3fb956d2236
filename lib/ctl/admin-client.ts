// The HTTP client of the admin interface: which gateway an invocation means, and one request to it.

import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { nearest } from '../text/nearest-name.ts'
import { hostOfAuthority } from '../core/addresses.ts'
import type { Invocation } from './gwctl-commands.ts'

/** The address of an admin interface. */
export type AdminAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly label: string }
  | { readonly kind: 'unix'; readonly path: string; readonly label: string }

export interface AdminRequest {
  readonly method: 'GET' | 'POST'
  /** With the query. */
  readonly path: string
  /** Milliseconds until the response head must be complete. */
  readonly timeout?: number
  /** Milliseconds that the response body may take after the head. */
  readonly bodyTimeout?: number
}

export interface AdminResponse {
  readonly status: number
  /** With the reason phrase: `404 Not Found`. */
  readonly statusText: string
  readonly body: Buffer
}

const ADMIN_PORT = 15_000
const LOCAL_HOST = '127.0.0.1'
const RESOURCE = /^gateways?\/(.+)$/
const MAX_LISTED_NAMES = 10

const RESPONSE_TIMEOUT = 10_000
/** For the complete body, even if its bytes keep coming. */
const BODY_TIMEOUT = 60_000
/** A dump or a heap profile of a large gateway is much smaller. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024
const MAX_REFUSAL_CHARS = 2_000

const CONNECT_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: is the gateway running, with its admin interface here?',
  ENOENT: 'no such socket: is the gateway running?',
  ENOTFOUND: 'no such host',
  EACCES: 'permission denied',
}

export function hasOption({ options }: Invocation, name: string): boolean {
  return options[name] !== undefined
}

/** The value of an option that does not repeat. */
export function optionValue({ options }: Invocation, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** Throws `invalid --name x` if the value is not a port. */
export function portOption(invocation: Invocation, name: string, fallback: number): number {
  const text = optionValue(invocation, name)
  if (text === undefined) return fallback
  const port = Number(text)
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new Error(`invalid --${name} ${text}: expected a port from 1 to 65535`)
  return port
}

/** Throws if the options contradict each other, or no gateway has the name. */
export async function adminAddress(invocation: Invocation): Promise<AdminAddress> {
  const resource = resourceArgument(invocation)
  const port = portOption(invocation, 'proxy-admin-port', ADMIN_PORT)
  const url = optionValue(invocation, 'admin-url')
  if (url !== undefined) {
    if (hasOption(invocation, 'local'))
      throw new Error('at most one of --local or --admin-url may be passed')
    if (resource !== undefined) throw new Error('--admin-url does not accept a resource argument')
  }
  if (url === undefined && resource === undefined) return tcpAddress(LOCAL_HOST, port)
  const hasPort = hasOption(invocation, 'proxy-admin-port')
  if (url !== undefined) {
    if (hasPort)
      throw new Error(
        '--proxy-admin-port is only for this machine: write the port into the address',
      )
    return parseAddress(url, '--admin-url')
  }
  const [, name = ''] = RESOURCE.exec(resource!) ?? []
  if (name === '') throw new Error(`invalid resource "${resource}": expected gateway/<name>`)
  const file = hostsFile()
  const hosts = await readHostsFile(file)
  const listed = hosts.get(name)
  // A port names the gateway of this machine.
  if (listed !== undefined && !hasPort) return parseAddress(listed, `${file}: ${name}:`)
  return findLocalGateway(name, tcpAddress(LOCAL_HOST, port), { file, hosts })
}

export function resourceArgument(invocation: Invocation): string | undefined {
  const { args } = invocation
  if (args.length > 1) throw new Error(`accepts at most 1 resource arg, received ${args.length}`)
  if (args.length > 0 && hasOption(invocation, 'local'))
    throw new Error('--local does not accept a resource argument')
  return args[0]
}

function parseAddress(text: string, source: string): AdminAddress {
  const [, path] = /^unix:(?:\/\/)?(\/.+)$/.exec(text) ?? []
  if (path !== undefined) return { kind: 'unix', path, label: `unix:${path}` }
  const url = URL.canParse(text) ? new URL(text) : null
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === ''
  if (url?.protocol !== 'http:' || !isBare || url.username !== '')
    throw new Error(`invalid ${source} ${text}: expected http://host:port or unix:/path`)
  return tcpAddress(hostOfAuthority(url.hostname), url.port === '' ? ADMIN_PORT : Number(url.port))
}

function tcpAddress(host: string, port: number): AdminAddress {
  return { kind: 'tcp', host, port, label: `${host.includes(':') ? `[${host}]` : host}:${port}` }
}

/** The hosts file has lines `name: address`. */
function hostsFile(): string {
  const { GWCTL_HOSTS, XDG_CONFIG_HOME } = process.env
  const configFolder = XDG_CONFIG_HOME ?? join(homedir(), '.config')
  return GWCTL_HOSTS ?? join(configFolder, 'gwctl', 'hosts.yaml')
}

interface HostsFile {
  readonly file: string
  readonly hosts: ReadonlyMap<string, string>
}

/** Returns the local address if its configuration has a gateway of that name; otherwise lists the known names. */
async function findLocalGateway(
  name: string,
  local: AdminAddress,
  { file, hosts }: HostsFile,
): Promise<AdminAddress> {
  const found = await listGatewayNames(local)
  if (typeof found !== 'string' && found.includes(name)) return local
  const here = typeof found === 'string' ? [] : found
  const near = nearest(name, [...here, ...hosts.keys()])
  const hint = near === undefined ? '' : `; did you mean gateway/${near}?`
  const answer = typeof found === 'string' ? found : `${local.label} has ${listNames(found)}.`
  const inFile = hosts.size === 0 ? '' : ` (it has ${listNames([...hosts.keys()])})`
  throw new Error(
    `unknown gateway "${name}"${hint}\n${answer}\n` +
      `Write "${name}: http://<host>:15000" into ${file}${inFile}, or pass --admin-url.`,
  )
}

function listNames(names: readonly string[]): string {
  return names.slice(0, MAX_LISTED_NAMES).join(', ') || 'no gateway'
}

/** The names of the gateways in the configuration of a process, or why they are unknown. */
async function listGatewayNames(address: AdminAddress): Promise<readonly string[] | string> {
  try {
    const dump = await sendAdminRequest(address, { method: 'GET', path: '/config_dump' })
    if (dump.status !== 200) return `${address.label} answered ${dump.statusText}`
    const { listeners } = JSON.parse(dump.body.toString()) as {
      listeners?: readonly { readonly gatewayName?: unknown }[]
    }
    return [...new Set((listeners ?? []).map(({ gatewayName }) => String(gatewayName)))]
  } catch (error) {
    return (error as Error).message
  }
}

/** A missing file has no names. */
async function readHostsFile(file: string): Promise<Map<string, string>> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return new Map()
    throw new Error(`failed to read hosts file ${file}: ${message}`, { cause: error })
  }
  const { parse } = await import('yaml')
  const hosts: unknown = parse(text) ?? {}
  if (typeof hosts !== 'object' || hosts === null || Array.isArray(hosts))
    throw new Error(`${file}: expected lines of the form name: address`)
  return new Map(Object.entries(hosts).map(([name, address]) => [name, String(address)]))
}

/** Resolves with the response head; the body is still to be read. */
export function openResponse(
  address: AdminAddress,
  { method, path, timeout = RESPONSE_TIMEOUT }: AdminRequest,
): Promise<IncomingMessage> {
  const to =
    address.kind === 'unix'
      ? { socketPath: address.path, headers: { host: 'localhost' } }
      : { host: address.host, port: address.port }
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...to, method, path, agent: false })
    const timer = setTimeout(() => outgoing.destroy(new Error('response timed out')), timeout)
    outgoing.once('response', (response) => {
      clearTimeout(timer)
      resolve(response)
    })
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      reject(new Error(`${address.label}: ${connectErrorText(error)}`, { cause: error }))
    })
    outgoing.end()
  })
}

export async function sendAdminRequest(
  address: AdminAddress,
  adminRequest: AdminRequest,
): Promise<AdminResponse> {
  const response = await openResponse(address, adminRequest)
  const body = await readResponseBody(response, adminRequest.bodyTimeout)
  return { status: response.statusCode ?? 0, statusText: statusTextOf(response), body }
}

/** The body of a refusal, short enough for an error message. */
export function refusalText(body: Buffer): string {
  const text = body.toString().trim()
  return text.length > MAX_REFUSAL_CHARS ? `${text.slice(0, MAX_REFUSAL_CHARS)}…` : text
}

export function statusTextOf({ statusCode = 0, statusMessage = '' }: IncomingMessage): string {
  return `${statusCode} ${statusMessage}`.trim()
}

/** Reads the complete body; its size, its duration and the pauses in it are limited. */
export async function readResponseBody(
  response: IncomingMessage,
  timeout = BODY_TIMEOUT,
): Promise<Buffer> {
  response.setTimeout(RESPONSE_TIMEOUT, () =>
    response.destroy(new Error('the response was interrupted')),
  )
  const tooSlow = new Error(`the response took more than ${timeout / 1_000} s`)
  const timer = setTimeout(() => response.destroy(tooSlow), timeout)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > MAX_RESPONSE_BYTES)
        throw new Error(`the response is larger than ${MAX_RESPONSE_BYTES} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
  }
}

/** A host name with several addresses fails with one error for all of them. */
function connectErrorText(error: NodeJS.ErrnoException): string {
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : []
  const { code, message }: NodeJS.ErrnoException = first
  return CONNECT_ERRORS[code ?? ''] ?? message
}
