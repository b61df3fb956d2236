// gwctl proxy config: prints the active configuration, complete or as tables, from a gateway or from a saved dump.

import { readFileSync } from 'node:fs'
import {
  adminAddress,
  hasOption,
  optionValue,
  refusalText,
  sendAdminRequest,
} from './admin-client.ts'
import {
  BACKEND_HEADINGS,
  POLICY_HEADINGS,
  ROUTE_HEADINGS,
  backendCells,
  backendRows,
  policyCells,
  policyRows,
  routeCells,
  routeRows,
} from './config-tables.ts'
import type { Fields } from './config-tables.ts'
import type { Invocation } from './gwctl-commands.ts'
import { jsonText, outputFormat, printAs, tableText } from './print-output.ts'

/** The format `short` is JSON: a complete configuration has no shorter form. */
export async function configAll(invocation: Invocation): Promise<void> {
  const format = outputFormat(invocation)
  const dump = await loadDump(invocation)
  await printAs(format, dump, () => jsonText(dump))
}

export async function configBackends(invocation: Invocation): Promise<void> {
  const format = outputFormat(invocation)
  const rows = backendRows(await loadDump(invocation))
  await printAs(format, rows, () => tableText(BACKEND_HEADINGS, rows.map(backendCells)))
}

export async function configRoutes(invocation: Invocation): Promise<void> {
  const format = outputFormat(invocation)
  const rows = routeRows(await loadDump(invocation))
  await printAs(format, rows, () => tableText(ROUTE_HEADINGS, rows.flatMap(routeCells)))
}

export async function configPolicies(invocation: Invocation): Promise<void> {
  const format = outputFormat(invocation)
  const rows = policyRows(await loadDump(invocation))
  await printAs(format, rows, () => tableText(POLICY_HEADINGS, rows.map(policyCells)))
}

async function loadDump(invocation: Invocation): Promise<Fields> {
  const file = optionValue(invocation, 'file')
  if (file === undefined) return requestDump(invocation)
  if (invocation.args.length > 0)
    throw new Error('at most one of --file or resource name may be passed')
  for (const other of ['local', 'admin-url', 'proxy-admin-port'])
    if (hasOption(invocation, other))
      throw new Error(`at most one of --file or --${other} may be passed`)
  return parseDump(readDumpFile(file), `config dump file ${file}`)
}

async function requestDump(invocation: Invocation): Promise<Fields> {
  const address = await adminAddress(invocation)
  const dumpRequest = { method: 'GET', path: '/config_dump' } as const
  const { status, statusText, body } = await sendAdminRequest(address, dumpRequest)
  if (status !== 200) throw new Error(`config dump returned ${statusText}: ${refusalText(body)}`)
  return parseDump(body.toString(), `config dump of ${address.label}`)
}

function readDumpFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const { message } = error as Error
    throw new Error(`failed to read config dump file ${file}: ${message}`, { cause: error })
  }
}

function parseDump(text: string, source: string): Fields {
  try {
    const dump: unknown = JSON.parse(text)
    if (typeof dump === 'object' && dump !== null && !Array.isArray(dump)) return dump as Fields
  } catch (error) {
    throw new Error(`failed to parse ${source}: ${(error as Error).message}`, { cause: error })
  }
  throw new Error(`failed to parse ${source}: it is not a JSON object`)
}
