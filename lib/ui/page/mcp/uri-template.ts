// URI templates (RFC 6570), as far as resources of MCP servers use them: names to fill in.

/** What is to be filled in. */
export function holesOf(template: string): string[] {
  const found = template.matchAll(/\{[+#./;?&]?([^{}]+)\}/g)
  const names = [...found].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.replace(/\*$|:\d+$/, '')),
  )
  return [...new Set(names)]
}

/** The commonest of RFC 6570: each name is replaced, and what has reserved letters of its own keeps them. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([+#./;?&]?)([^{}]+)\}/g, (_hole, operator: string, list: string) => {
    const pairs = list.split(',').map((name) => {
      const bare = name.replace(/\*$|:\d+$/, '')
      return [bare, values[bare] ?? ''] as const
    })
    return expanded(operator, pairs)
  })
}

function expanded(operator: string, pairs: readonly (readonly [string, string])[]): string {
  const given = pairs.filter(([, value]) => value !== '')
  if (given.length === 0) return ''
  const keeps = operator === '+' || operator === '#'
  const written = given.map(([name, value]) => {
    const text = keeps ? encodeURI(value) : encodeURIComponent(value)
    return ';?&'.includes(operator) && operator !== '' ? `${name}=${text}` : text
  })
  const joint = { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' }
  const lead = operator === '+' ? '' : operator
  return lead + written.join(joint[operator as keyof typeof joint])
}
