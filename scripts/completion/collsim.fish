# fish completion for collsim: `collsim complete` says what fits.
function __collsim_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (collsim complete $words[2..-1] 2>/dev/null)
        if test $line = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c collsim -f -a '(__collsim_complete)'
