// Hostile values that the page must show as plain text. A value that runs sets `window.hacked`.

export const SCRIPT = '<script>window.hacked=1</script>'
export const IMAGE = '"><img src=x onerror=window.hacked=2>'
export const LINK = 'javascript:window.hacked=3'
/** Reverses the direction of the following text where it is obeyed. */
export const TURNED = 'cod\u202Eexe.txt'
/** Also names of inherited properties. */
export const KEYS = [IMAGE, '__proto__', 'constructor'] as const

/** An image with a script. */
export const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=4" width="8" height="8"><script>window.hacked=5</script></svg>`
