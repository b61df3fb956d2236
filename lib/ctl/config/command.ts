// gwctl proxy config: what is in force, whole or as tables.

import type { Call } from '../command.ts'
import { formOf, jsonText, printAs } from '../output.ts'
import { tableText } from '../table.ts'
import { BACKEND_HEADINGS, backendCells, backendRows } from './backends.ts'
import { dumpOf } from './dump.ts'
import { POLICY_HEADINGS, policyCells, policyRows } from './policies.ts'
import { ROUTE_HEADINGS, routeCells, routeRows } from './routes.ts'

/** There is no shorter form of everything than JSON. */
export async function configAll(call: Call): Promise<void> {
  const form = formOf(call)
  const dump = await dumpOf(call)
  await printAs(form, dump, () => jsonText(dump))
}

export async function configBackends(call: Call): Promise<void> {
  const form = formOf(call)
  const rows = backendRows(await dumpOf(call))
  await printAs(form, rows, () => tableText(BACKEND_HEADINGS, rows.map(backendCells)))
}

export async function configRoutes(call: Call): Promise<void> {
  const form = formOf(call)
  const rows = routeRows(await dumpOf(call))
  await printAs(form, rows, () => tableText(ROUTE_HEADINGS, rows.flatMap(routeCells)))
}

export async function configPolicies(call: Call): Promise<void> {
  const form = formOf(call)
  const rows = policyRows(await dumpOf(call))
  await printAs(form, rows, () => tableText(POLICY_HEADINGS, rows.map(policyCells)))
}
