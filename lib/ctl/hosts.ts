// The hosts file: names of gateways and where their admin interfaces are, one `name: address` a line.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { nearest } from './nearest.ts'

const MOST_TOLD = 10

/** Throws an error that tells how to name it. */
export async function addressNamed(name: string): Promise<{ address: string; file: string }> {
  const file = hostsFile()
  const known = await readHosts(file)
  const address = known.get(name)
  if (address !== undefined) return { address, file }
  const near = nearest(name, [...known.keys()])
  const names = [...known.keys()].slice(0, MOST_TOLD).join(', ')
  const told = known.size === 0 ? '' : ` (it has ${names})`
  const meant = near === null ? '' : `; did you mean gateway/${near}?`
  throw new Error(
    `unknown gateway "${name}"${meant}\n` +
      `Write "${name}: http://<host>:15000" into ${file}${told}, or pass --admin-url.`,
  )
}

function hostsFile(): string {
  const { GWCTL_HOSTS: named, XDG_CONFIG_HOME: folder } = process.env
  return named ?? join(folder ?? join(homedir(), '.config'), 'gwctl', 'hosts.yaml')
}

/** A file that is not there knows nobody. */
async function readHosts(file: string): Promise<Map<string, string>> {
  const text = textOf(file)
  if (text === null) return new Map()
  const { parse } = await import('yaml')
  const found: unknown = parse(text) ?? {}
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new Error(`${file}: expected lines of the form name: address`)
  return new Map(Object.entries(found).map(([name, address]) => [name, String(address)]))
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new Error(`failed to read hosts file ${file}: ${message}`, { cause: error })
  }
}
