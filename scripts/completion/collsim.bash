# bash completion for collsim: `collsim complete` says what fits.
# shellcheck shell=bash
_collsim() {
    local current=${COMP_WORDS[COMP_CWORD]} word
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        if [ "$word" = :files ]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
                COMPREPLY+=("$word")
            done < <(compgen -f -- "$current")
        else
            COMPREPLY+=("$word")
        fi
    done < <(collsim complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _collsim collsim
