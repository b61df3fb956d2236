// What changed from one snapshot to the next, leaf by leaf.

/** Lines that begin with `- ` and `+ `; none when nothing changed. */
export function diffLines(before: unknown, after: unknown): string[] {
  const old = leavesOf(before)
  const now = leavesOf(after)
  const lines: string[] = []
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(path), now.get(path)]
    if (was === is) continue
    if (was !== undefined) lines.push(`- ${path}: ${was}`)
    if (is !== undefined) lines.push(`+ ${path}: ${is}`)
  }
  return lines
}

/** By path, as JSON. */
function leavesOf(value: unknown): Map<string, string> {
  const leaves = new Map<string, string>()
  const visit = (node: unknown, path: string): void => {
    const parts = partsOf(node)
    if (parts.length === 0) return void leaves.set(path, JSON.stringify(node) ?? 'null')
    const isList = Array.isArray(node)
    for (const [name, part] of parts) visit(part, isList ? `${path}[${name}]` : join(path, name))
  }
  visit(value, '')
  return leaves
}

/** None of what is empty or no collection: that is a leaf. */
function partsOf(node: unknown): [string, unknown][] {
  return typeof node === 'object' && node !== null ? Object.entries(node) : []
}

function join(path: string, name: string): string {
  const shown = /^[\w-]+$/.test(name) ? name : JSON.stringify(name)
  return path === '' ? shown : `${path}.${shown}`
}
